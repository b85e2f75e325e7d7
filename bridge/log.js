/**
 * Forwards the host's session logs. It owns how far each live session's log has been sent, and nothing else: what isn't
 * sent yet is the log itself, so nothing is buffered here, and after a reconnect both sides agree anew on where to go
 * on.
 * @import { Frames, LogEntry, SessionOpenParams } from './frames.js'
 * @import { Session, SessionEvent } from './host.js'
 * @import { Sidecar } from './sidecar.js'
 */
import { entryAt, inheritedCount, isSubagent, logLength } from './entries.js'
import { shortened } from './text.js'
import { RpcError } from './rpc.js'

/** Batches follow each other at this distance; one that only moves the cursor waits longer. Milliseconds. */
const PACE_MS = 50
const CURSOR_PACE_MS = 1000
/** Bounds of one batch: entries sent, their size, and entries looked at. */
const MAX_SENT = 200
const MAX_BYTES = 1024 * 1024
const MAX_SCANNED = 5000
/** An entry larger than this fits no frame; it is counted as skipped. */
const MAX_ENTRY_BYTES = 6 * 1024 * 1024
const OPEN_MS = 15_000
const EVENTS_MS = 30_000
const RETRY_MS = 5000
const INVALID_PARAMS = -32602
/** Another host has the session: whether it still does is asked again after this time. */
const READ_ONLY_MS = 30_000

/**
 * @typedef {{
 *   session: Session,
 *   opened: boolean,
 *   cursor: number,
 *   sentAt: number,
 *   timer: NodeJS.Timeout | undefined,
 *   pumping: Promise<void> | null,
 *   urgent: number,
 *   atMost: number,
 *   refused: Set<number>,
 *   closing: boolean,
 * }} Feed `cursor`: the last entry that the sidecar has; `sentAt`: when a batch was last sent; `urgent`: up to here,
 * nothing
 *   waits for its time; `atMost`: entries a batch; `refused`: entries that the sidecar can't take
 */

/**
 * An entry as it goes over the wire: verbatim, but for token streams and the provider's replay state.
 * @param {SessionEvent} entry
 * @returns {LogEntry}
 */
export function bare({ seq, time, type, data }) {
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
 * @param {Session} session
 * @returns {string | undefined} the newest title that the log gives it, cut where it is too long
 */
function titleOf(session) {
  const first = Math.max(0, logLength(session) - MAX_SCANNED)
  for (let seq = logLength(session) - 1; seq >= first; seq--) {
    const entry = entryAt(session, seq)
    if (entry?.type === 'session/title' && typeof entry.data?.title === 'string') return shortened(entry.data.title)
  }
  return undefined
}

export class LogForwarder {
  #sidecar
  #report
  /** @type {Map<string, Feed>} */ #feeds = new Map()
  /** @type {Set<string>} */ #wants = new Set()
  /** Called after a root session was opened in the sidecar. @type {(session: Session) => void} */
  onOpened = () => {}

  /** @param {Sidecar} sidecar @param {(place: string, error: unknown) => void} report */
  constructor(sidecar, report) {
    this.#sidecar = sidecar
    this.#report = report
  }

  /**
   * A new sidecar answered: every session is opened in it again.
   * @param {string[]} wants the entry types that it reads
   */
  connected(wants) {
    this.#wants = new Set(wants)
    for (const feed of this.#feeds.values()) {
      feed.opened = false
      this.#schedule(feed, 0)
    }
  }

  /** A session came to life. @param {Session} session */
  add(session) {
    if (this.#feeds.get(session.id)?.session === session) return
    /** @type {Feed} */
    const feed = {
      session,
      opened: false,
      cursor: -1,
      sentAt: -Infinity,
      timer: undefined,
      pumping: null,
      urgent: -1,
      atMost: MAX_SENT,
      refused: new Set(),
      closing: false,
    }
    this.#feeds.set(session.id, feed)
    this.#schedule(feed, 0)
  }

  /** A session's log grew. @param {Session} session @param {SessionEvent} event */
  grew(session, event) {
    const feed = this.#feeds.get(session.id)
    if (!feed || feed.session !== session || isSubagent(session)) return
    if (event.type === 'session/title') feed.opened = false
    const pace = this.#wants.has(event.type) ? PACE_MS : CURSOR_PACE_MS
    this.#schedule(feed, Math.max(0, feed.sentAt + pace - performance.now()), pace === PACE_MS)
  }

  /** A session went; what its log still holds is sent first. @param {Session} session */
  remove(session) {
    const feed = this.#feeds.get(session.id)
    if (!feed || feed.session !== session) return
    feed.closing = true
    this.#schedule(feed, 0, true)
  }

  /**
   * Sends all that a session's log holds now.
   * @param {Session} session
   * @returns {Promise<boolean>} whether the sidecar has it
   */
  async flush(session) {
    const feed = this.#feeds.get(session.id)
    if (!feed) return false
    feed.urgent = logLength(session) - 1
    await this.#pump(feed)
    if (feed.cursor < feed.urgent) await this.#pump(feed)
    return feed.opened && feed.cursor >= feed.urgent
  }

  /** Writes out, without waiting, what hasn't been sent; for when the host is about to end. */
  lastCall() {
    for (const feed of this.#feeds.values()) {
      clearTimeout(feed.timer)
      const { session, opened, pumping, cursor } = feed
      if (!opened || pumping || isSubagent(session) || cursor >= logLength(session) - 1) continue
      this.#sidecar.request('session/events', this.#batch(feed), { timeoutMs: EVENTS_MS }).catch(() => {})
    }
  }

  /** @param {Feed} feed @param {number} ms @param {boolean} [sooner] replaces a later appointment */
  #schedule(feed, ms, sooner = false) {
    if (feed.timer && !sooner) return
    clearTimeout(feed.timer)
    feed.timer = setTimeout(() => {
      feed.timer = undefined
      void this.#pump(feed)
    }, ms)
    feed.timer.unref()
  }

  /** @param {Feed} feed @returns {Promise<void>} */
  #pump(feed) {
    if (!this.#sidecar.ready) {
      if (feed.closing) this.#forget(feed)
      return Promise.resolve()
    }
    feed.pumping ??= this.#send(feed)
      .catch(error => {
        feed.opened = false
        if (!this.#sidecar.ready) return
        this.#report('log', error)
        this.#schedule(feed, RETRY_MS)
      })
      .finally(() => {
        feed.pumping = null
      })
    return feed.pumping
  }

  /** @param {Feed} feed */
  async #send(feed) {
    for (;;) {
      if (!feed.opened && !(await this.#open(feed))) {
        feed.opened = false
        if (feed.closing) break
        return this.#schedule(feed, READ_ONLY_MS)
      }
      if (isSubagent(feed.session) || feed.cursor >= logLength(feed.session) - 1) break
      const batch = this.#batch(feed)
      const early = feed.sentAt + (batch.events.length ? PACE_MS : CURSOR_PACE_MS) - performance.now()
      const catchingUp = batch.through < logLength(feed.session) - 1
      const urgent = feed.closing || feed.cursor < feed.urgent
      if (early > 0 && !catchingUp && !urgent) return this.#schedule(feed, early, batch.events.length > 0)
      feed.sentAt = performance.now()
      await this.#deliver(feed, batch)
    }
    // A session that came to life again meanwhile has a feed of its own, and stays open.
    if (!feed.closing || this.#feeds.get(feed.session.id) !== feed) return
    this.#forget(feed)
    await this.#sidecar.request('session/close', { session: feed.session.id }, { timeoutMs: OPEN_MS })
  }

  /**
   * @param {Feed} feed
   * @returns {Promise<boolean>} whether the sidecar takes its entries: not while another host has it
   */
  async #open(feed) {
    const { session } = feed
    const { cwd, parentSession } = session.header
    const last = entryAt(session, logLength(session) - 1)
    const title = titleOf(session)
    /** @type {SessionOpenParams} */
    const params = {
      session: session.id,
      origin: isSubagent(session) ? 'subagent' : 'user',
      ...(title === undefined ? {} : { title }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(parentSession === undefined ? {} : { parent: parentSession }),
      ...(last === undefined ? {} : { head: { seq: last.seq, time: last.time } }),
    }
    const result = await this.#sidecar.request('session/open', params, { timeoutMs: OPEN_MS })
    feed.cursor = result.resend_from - 1
    feed.opened = true
    for (const { code, message } of result.degraded) this.#report(`session/open ${code}`, message)
    if (!isSubagent(session)) this.onOpened(session)
    return !result.read_only
  }

  /** @param {Feed} feed @param {Frames['session/events']['params']} batch */
  async #deliver(feed, batch) {
    try {
      await this.#sidecar.request('session/events', batch, { timeoutMs: EVENTS_MS })
      feed.cursor = batch.through
      feed.atMost = MAX_SENT
      feed.refused.clear()
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      if (error.data?.code === 'cursor_gap' && error.data.cursor < feed.cursor) feed.cursor = error.data.cursor
      else if (error.code === INVALID_PARAMS && batch.events.length) this.#narrow(feed, batch, error)
      else throw error
    }
  }

  /**
   * One entry of a batch is refused, and must not hold up the others: it is found, and then counted as skipped.
   * @param {Feed} feed
   * @param {Frames['session/events']['params']} batch
   * @param {RpcError} error
   */
  #narrow(feed, { events }, error) {
    feed.atMost = Math.ceil(events.length / 8)
    if (events.length > 1 || !events[0]) return
    feed.refused.add(events[0].seq)
    this.#report('session/events', error)
  }

  /** The next entries of a log that has some. @param {Feed} feed @returns {Frames['session/events']['params']} */
  #batch({ session, cursor, atMost, refused }) {
    const inherited = inheritedCount(session)
    if (cursor < inherited - 1) {
      const skipped = { inherited: inherited - 1 - cursor }
      return { session: session.id, after: cursor, through: inherited - 1, events: [], skipped }
    }
    /** @type {LogEntry[]} */
    const events = []
    /** @type {Record<string, number>} */
    const skipped = {}
    /** @param {string} kind */
    const skip = kind => { skipped[kind] = (skipped[kind] ?? 0) + 1 }
    const end = Math.min(logLength(session), cursor + 1 + MAX_SCANNED)
    let through = cursor
    let bytes = 0
    for (let seq = cursor + 1; seq < end && events.length < atMost; seq++) {
      const entry = entryAt(session, seq)
      if (!entry || !this.#wants.has(entry.type)) skip(entry?.type ?? 'unreadable')
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

  /** @param {Feed} feed */
  #forget(feed) {
    clearTimeout(feed.timer)
    if (this.#feeds.get(feed.session.id) === feed) this.#feeds.delete(feed.session.id)
  }
}
