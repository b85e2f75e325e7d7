/**
 * A batch of a session's log, as one `session/events` carries it: bounded, verbatim but for what nobody reads, and with
 * a count of what it leaves out.
 * @import { Frames, LogEntry } from './frames.js'
 * @import { Session, SessionEvent } from './host.js'
 */
import { entryAt, inheritedCount, logLength } from './entries.js'

/** Bounds of one batch: entries sent, their size, and entries looked at. */
export const MAX_SENT = 200
const MAX_BYTES = 1024 * 1024
const MAX_SCANNED = 5000
/** An entry larger than this fits no frame; it is counted as skipped. */
const MAX_ENTRY_BYTES = 6 * 1024 * 1024

/**
 * @typedef {{ session: Session, cursor: number, taken: number, atMost: number, refused: ReadonlySet<number> }} Place
 *   where a log goes on. `cursor`: the last entry that both sides agree on; `taken`: the furthest that the sidecar took;
 *   `atMost`: entries a batch; `refused`: entries that the sidecar can't take
 */

/**
 * An entry as it goes over the wire: verbatim, but for token streams and the provider's replay state.
 * @param {SessionEvent} entry
 * @returns {LogEntry}
 */
function bare({ seq, time, type, data }) {
  if (typeof data !== 'object' || data === null) return { seq, time, type, data }
  const { stream: _stream, ...rest } = data
  const source = rest.message?.source
  if (source && typeof source === 'object' && 'replayState' in source) {
    const { replayState: _state, ...kept } = source
    rest.message = { ...rest.message, source: kept }
  }
  return { seq, time, type, data: rest }
}

/**
 * The next entries of a log that has some after its cursor.
 * @param {Place} place
 * @param {ReadonlySet<string>} wants the types that the sidecar reads
 * @returns {Frames['session/events']['params']}
 */
export function nextBatch({ session, cursor, taken, atMost, refused }, wants) {
  // What was taken is counted already: a batch that went on beyond it would have its skips counted twice, or not at all.
  const limit = cursor < taken ? taken : Infinity
  const inherited = inheritedCount(session) - 1
  if (cursor < inherited) {
    const through = Math.min(inherited, limit)
    return { session: session.id, after: cursor, through, events: [], skipped: { inherited: through - cursor } }
  }
  /** @type {LogEntry[]} */
  const events = []
  /** @type {Record<string, number>} */
  const skipped = {}
  /** @param {string} kind */
  const skip = kind => { skipped[kind] = (skipped[kind] ?? 0) + 1 }
  const end = Math.min(logLength(session), cursor + 1 + MAX_SCANNED, limit + 1)
  let through = cursor
  let bytes = 0
  for (let seq = cursor + 1; seq < end && events.length < atMost; seq++) {
    const entry = entryAt(session, seq)
    if (!entry || !wants.has(entry.type)) skip(entry?.type ?? 'unreadable')
    else if (refused.has(seq)) skip('refused')
    else {
      const sent = bare(entry)
      const size = Buffer.byteLength(JSON.stringify(sent))
      if (size > MAX_ENTRY_BYTES) skip('oversize')
      else if (events.length && bytes + size > MAX_BYTES) break
      else {
        events.push(sent)
        bytes += size
      }
    }
    through = seq
  }
  return { session: session.id, after: cursor, through, events, ...(Object.keys(skipped).length ? { skipped } : {}) }
}
