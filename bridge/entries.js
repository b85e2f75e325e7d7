/**
 * Reading a session's log. The host marks its synchronous readers as deprecated, so they are called here alone.
 * @import { Session, SessionEvent } from './host.js'
 */

/** @param {Session} session @returns {number} how many entries it has; they are numbered from 0 without holes */
export const logLength = session => session.seq

/** @param {Session} session @param {number} seq @returns {SessionEvent | undefined} */
export const entryAt = (session, seq) => session.eventAt(seq)

/** @param {Session} session @returns {boolean} whether it is a subagent's: nothing else decides that */
export const isSubagent = session => session.header.origin === 'subagent'

/**
 * @param {Session} session
 * @returns {number} how many leading entries it has from the session that it was forked from
 */
export const inheritedCount = session => (session.header.isSeeded ? session.inheritedEventCount ?? 0 : 0)
