/** The file name of a session: readable, and never the same for two ids. The sidecar computes the same. */
import { createHash } from 'node:crypto'

/**
 * @param {string} session the host's id, any text
 * @returns {string} a slug of at most 40 characters and 16 hex digits of the id's digest
 */
export function sessionStem(session) {
  const slug = session
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '')
  const digest = createHash('sha256').update(session, 'utf8').digest('hex').slice(0, 16)
  return `${slug || 'session'}-${digest}`
}
