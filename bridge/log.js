/**
 * Forwards the host's session logs. It owns how far each live session's log has been sent, and nothing else: what isn't
 * sent yet is the log itself, so nothing is buffered here, and after a reconnect both sides agree anew on where to go
 * on.
 * @import { Frames, SessionOpenParams } from './frames.js'
 * @import { Session, SessionEvent } from './host.js'
 * @import { Sidecar } from './sidecar.js'
 */
import { MAX_SENT, nextBatch } from './batch.js'
import { entryAt, isSubagent, logLength } from './entries.js'
import { shortened } from './text.js'
import { RpcError } from './rpc.js'

/** All in milliseconds; batches follow each other at `pace`, one that only moves the cursor waits `cursorPace`. */
export const PACES = {
  pace: 50,
  cursorPace: 1000,
  /** After a failure. */
  retry: 5000,
  /** Another host has the session: whether it still does is asked again after this time. */
  readOnly: 30_000,
}
/** A session that went is tried so often before what its log still holds is left for its next opening. */
const LAST_TRIES = 3
/** A title is looked for in so many of the newest entries. */
const TITLE_WITHIN = 5000
const OPEN_MS = 15_000
const EVENTS_MS = 30_000
const INVALID_PARAMS = -32602

/**
 * @typedef {{
 *   session: Session,
 *   state: 'closed' | 'open' | 'read_only',
 *   titleStale: boolean,
 *   cursor: number,
 *   sent: number,
 *   taken: number,
 *   sentAt: number,
 *   notBefore: number,
 *   timer: NodeJS.Timeout | undefined,
 *   pumping: Promise<void> | null,
 *   urgent: number,
 *   atMost: number,
 *   refused: Set<number>,
 *   closing: boolean,
 *   triesLeft: number,
 * }} Feed `state`: as the sidecar last said; `cursor`, `taken`, `atMost`, `refused`: see Place; `sent`: the cursor as it
 *   will be once the batch under way is answered; `sentAt`: when a batch was last sent; `notBefore`: nothing makes an
 *   appointment earlier than this; `urgent`: up to here, nothing waits for its pace; `triesLeft`: once it is closing
 */

/**
 * @param {Session} session
 * @returns {string | undefined} the newest title that the log gives it, cut where it is too long
 */
function titleOf(session) {
  const first = Math.max(0, logLength(session) - TITLE_WITHIN)
  for (let seq = logLength(session) - 1; seq >= first; seq--) {
    const entry = entryAt(session, seq)
    if (entry?.type === 'session/title' && typeof entry.data?.title === 'string') return shortened(entry.data.title)
  }
  return undefined
}

export class LogForwarder {
  #sidecar
  #report
  #paces
  /** @type {Map<string, Feed>} */ #feeds = new Map()
  /** @type {Set<string>} */ #wants = new Set()
  /** Called after a root session was opened in the sidecar. @type {(session: Session) => void} */
  onOpened = () => {}

  /** @param {Sidecar} sidecar @param {(place: string, error: unknown) => void} report @param {typeof PACES} [paces] */
  constructor(sidecar, report, paces = PACES) {
    this.#sidecar = sidecar
    this.#report = report
    this.#paces = paces
  }

  /**
   * A new sidecar answered: every session is opened in it again.
   * @param {string[]} wants the entry types that it reads
   */
  connected(wants) {
    this.#wants = new Set(wants)
    for (const feed of this.#feeds.values()) {
      feed.state = 'closed'
      feed.notBefore = -Infinity
      this.#schedule(feed, 0, true)
    }
  }

  /** A session came to life. @param {Session} session */
  add(session) {
    if (this.#feeds.get(session.id)?.session === session) return
    /** @type {Feed} */
    const feed = {
      session,
      state: 'closed',
      titleStale: false,
      cursor: -1,
      sent: -1,
      taken: -1,
      sentAt: -Infinity,
      notBefore: -Infinity,
      timer: undefined,
      pumping: null,
      urgent: -1,
      atMost: MAX_SENT,
      refused: new Set(),
      closing: false,
      triesLeft: LAST_TRIES,
    }
    this.#feeds.set(session.id, feed)
    this.#schedule(feed, 0)
  }

  /** A session's log grew. @param {Session} session @param {SessionEvent} event */
  grew(session, event) {
    const feed = this.#feeds.get(session.id)
    if (!feed || feed.session !== session || isSubagent(session)) return
    if (event.type === 'session/title') feed.titleStale = true
    const soon = this.#wants.has(event.type)
    const pace = soon ? this.#paces.pace : this.#paces.cursorPace
    this.#schedule(feed, feed.sentAt + pace - performance.now(), soon)
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
    return feed.state === 'open' && feed.cursor >= feed.urgent
  }

  /** Writes out, without waiting, what hasn't been sent; for when the host is about to end. */
  lastCall() {
    for (const feed of this.#feeds.values()) {
      clearTimeout(feed.timer)
      const { session, state, sent } = feed
      try {
        if (state !== 'open' || isSubagent(session) || sent >= logLength(session) - 1) continue
        const batch = nextBatch({ ...feed, cursor: sent }, this.#wants)
        this.#sidecar.request('session/events', batch, { timeoutMs: EVENTS_MS }).catch(() => {})
      } catch (error) {
        // One session that can't be read any more keeps nothing from the others.
        this.#report('last call', error)
      }
    }
  }

  /** @param {Feed} feed @param {number} ms @param {boolean} [sooner] replaces a later appointment */
  #schedule(feed, ms, sooner = false) {
    if (feed.timer && !sooner) return
    clearTimeout(feed.timer)
    const wait = Math.max(0, ms, feed.notBefore - performance.now())
    feed.timer = setTimeout(() => {
      feed.timer = undefined
      void this.#pump(feed)
    }, wait)
    feed.timer.unref()
  }

  /** Lets a feed rest, whatever comes meanwhile. @param {Feed} feed @param {number} ms */
  #rest(feed, ms) {
    feed.notBefore = performance.now() + ms
    this.#schedule(feed, ms, true)
  }

  /** @param {Feed} feed @returns {Promise<void>} */
  #pump(feed) {
    if (!this.#sidecar.ready) {
      if (feed.closing) this.#forget(feed)
      return Promise.resolve()
    }
    feed.pumping ??= this.#send(feed)
      .catch(error => this.#failed(feed, error))
      .finally(() => {
        feed.pumping = null
      })
    return feed.pumping
  }

  /** @param {Feed} feed @param {unknown} error */
  #failed(feed, error) {
    feed.state = 'closed'
    if (this.#sidecar.ready) this.#report('log', error)
    else if (!feed.closing) return
    // What is left of it stands in the host's log, and is sent when the session is opened again.
    if (feed.closing && (--feed.triesLeft <= 0 || !this.#sidecar.ready)) this.#forget(feed)
    else this.#rest(feed, this.#paces.retry)
  }

  /** @param {Feed} feed */
  async #send(feed) {
    const { pace, cursorPace, readOnly } = this.#paces
    const child = isSubagent(feed.session)
    // A child's session that the sidecar was never told of has nothing in it to close.
    if (feed.closing && child && feed.state === 'closed') return this.#forget(feed)
    for (;;) {
      if (feed.state !== 'open' || feed.titleStale) await this.#open(feed)
      if (feed.state === 'read_only') {
        if (feed.closing) break
        return this.#rest(feed, readOnly)
      }
      if (child || feed.cursor >= logLength(feed.session) - 1) break
      const batch = nextBatch(feed, this.#wants)
      const early = feed.sentAt + (batch.events.length ? pace : cursorPace) - performance.now()
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

  /** Tells the sidecar of the session, and learns where its log goes on. @param {Feed} feed */
  async #open(feed) {
    const { session } = feed
    const { cwd, parentSession } = session.header
    const last = entryAt(session, logLength(session) - 1)
    // Before the title is read: one that comes while the sidecar answers makes it stale again.
    feed.titleStale = false
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
    feed.cursor = feed.sent = result.resend_from - 1
    feed.taken = result.cursor
    feed.state = result.read_only ? 'read_only' : 'open'
    for (const { code, message } of result.degraded) this.#report(`session/open ${code}`, message)
    if (!isSubagent(session)) this.onOpened(session)
  }

  /** @param {Feed} feed @param {Frames['session/events']['params']} batch */
  async #deliver(feed, batch) {
    feed.sent = batch.through
    try {
      await this.#sidecar.request('session/events', batch, { timeoutMs: EVENTS_MS })
      feed.cursor = batch.through
      feed.atMost = MAX_SENT
      feed.triesLeft = LAST_TRIES
      feed.refused.clear()
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      if (error.data?.code === 'cursor_gap' && error.data.cursor < feed.cursor) feed.cursor = error.data.cursor
      else if (error.code === INVALID_PARAMS && batch.events.length) this.#narrow(feed, batch, error)
      else throw error
    } finally {
      feed.sent = feed.cursor
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

  /** @param {Feed} feed */
  #forget(feed) {
    clearTimeout(feed.timer)
    if (this.#feeds.get(feed.session.id) === feed) this.#feeds.delete(feed.session.id)
  }
}
