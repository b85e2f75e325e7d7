/**
 * The sidecar as the rest of the bridge sees it: requests to it and listeners for what it says, whichever process is
 * behind them at the moment. It owns the handshake, and telling a slow start from a hung program.
 * @import { ChildProcessWithoutNullStreams } from 'node:child_process'
 * @import { Frames, InitializeParams, InitializeResult } from './frames.js'
 * @import { RequestOptions } from './rpc.js'
 * @import { Hooks } from './process.js'
 */
import { messageOf, within } from './guard.js'
import { LastStart } from './last-start.js'
import { LIMITS, SidecarProcess } from './process.js'
import { Peer, RpcClosed, RpcGarbled } from './rpc.js'

const HANDSHAKE_MS = 20_000
/**
 * All in milliseconds. `firstWord`: a healthy process says `sidecar/starting` within this time of its start. `start`: the
 * longest after its start that anyone waits for it; a healthy one takes 350 to 1000. `hung`: silent for so long with a
 * request unanswered, it is taken for hung, and is ended.
 */
export const PATIENCE = { firstWord: 600, start: 2000, hung: 30_000 }
/** A request unanswered for so long means that it isn't well, and nobody waits for it any more. */
export const UNWELL_MS = 1000
/** The longest that the end waits for a note of a failed start. */
const NOTE_MS = 250

/** There is no sidecar to ask at the moment; the message says why. */
export class SidecarDown extends Error {}

export class Sidecar {
  #process
  #initialize
  #report
  #onPhase
  #patience
  #lastStart
  #disposed = false
  /** @type {Peer | null} */ #peer = null
  #ready = false
  /** Whether the process that runs was ever ready. */ #greeted = false
  #reason = 'not started yet'
  /** @type {Map<keyof Frames, (params: any, signal: AbortSignal) => any>} */ #handlers = new Map()
  /** @type {Map<keyof Frames, (params: any) => void>} */ #listeners = new Map()
  /** @type {Set<() => void>} */ #waiters = new Set()
  /** @type {NodeJS.Timeout | undefined} */ #watch
  /** Called after each handshake, with what the sidecar said in it. @type {(result: InitializeResult) => void} */
  onReady = () => {}

  /**
   * @param {{
   *   initialize: InitializeParams,
   *   process: Pick<Hooks, 'runtime' | 'cwd' | 'env' | 'log'>,
   *   onPhase: Hooks['onPhase'],
   *   report: (place: string, error: unknown) => void,
   * }} parts
   * @param {typeof LIMITS & typeof PATIENCE} [limits]
   */
  constructor({ initialize, process, onPhase, report }, limits = { ...LIMITS, ...PATIENCE }) {
    this.#patience = limits
    this.#lastStart = new LastStart(initialize.data_dir, report)
    this.#initialize = initialize
    this.#onPhase = onPhase
    this.#report = report
    this.#process = new SidecarProcess(
      {
        ...process,
        onStart: child => this.#connect(child),
        onEnd: reason => this.#lost(reason),
        onPhase: (phase, reason) => {
          this.#reason = reason ?? phase
          this.#onPhase(phase, reason)
          if (phase === 'off' || phase === 'failed') this.#wake()
        },
      },
      limits,
    )
  }

  start() {
    this.#process.start()
  }

  nudge() {
    this.#process.nudge()
  }

  /** Whether requests are taken. */
  get ready() {
    return this.#ready
  }

  /** Whether it leaves its requests unanswered. */
  get unwell() {
    return (this.#peer?.oldestUnansweredMs ?? 0) > UNWELL_MS
  }

  /**
   * Answers the sidecar's requests of this method, whichever process sends them.
   * @template {keyof Frames} M
   * @param {M} method
   * @param {(params: Frames[M]['params'], signal: AbortSignal) => Promise<Frames[M]['result']>} handler
   */
  serve(method, handler) {
    this.#handlers.set(method, handler)
  }

  /**
   * @template {keyof Frames} M
   * @param {M} method
   * @param {(params: Frames[M]['params']) => void} listener
   */
  listen(method, listener) {
    this.#listeners.set(method, listener)
  }

  /**
   * @template {keyof Frames} M
   * @param {M} method
   * @param {Frames[M]['params']} params
   * @param {RequestOptions} options
   * @returns {Promise<Frames[M]['result']>}
   * @throws {SidecarDown} at once where there is none, and what Peer.request throws
   */
  request(method, params, options) {
    if (!this.#ready || !this.#peer) return Promise.reject(new SidecarDown(this.#reason))
    return this.#peer.request(method, params, options)
  }

  /**
   * Whether it takes requests, or soon will: a start that gave a sign of life is waited for, up to a bound. Anything else
   * isn't, nor is a start after one that failed.
   * @param {AbortSignal} signal
   * @returns {Promise<boolean>}
   */
  async settled(signal) {
    for (;;) {
      const age = this.#process.ageMs
      if (signal.aborted || age === null) return false
      if (this.#ready) return !this.unwell
      if (this.#lastStart.failed) return false
      const { firstWord, start } = this.#patience
      if (age >= start) this.#lastStart.didFail(`it wasn't ready ${start / 1000} s after its start`)
      const left = (this.#peer?.heardAt == null ? firstWord : start) - age
      if (left <= 0) return false
      await this.#change(left, signal)
    }
  }

  /** Ends it for good; resolves when nothing of it is left. */
  async dispose() {
    this.#disposed = true
    clearInterval(this.#watch)
    // Before the handshake it has accepted nothing that it could lose.
    await this.#process.dispose(!this.#ready || this.unwell)
    await within(this.#lastStart.written, NOTE_MS, 'noting a start').catch(error => this.#report('start-failed', error))
  }

  /** @param {ChildProcessWithoutNullStreams} child */
  #connect(child) {
    const peer = new Peer(child.stdout, child.stdin, {
      onClose: reason => {
        this.#ready = false
        const words = `the connection to the sidecar broke: ${reason.message}`
        if (reason instanceof RpcGarbled) this.#process.kill(words)
        else this.#process.leaving(words)
      },
      onFault: this.#report,
    })
    this.#peer = peer
    this.#greeted = false
    for (const [method, handler] of this.#handlers) peer.serve(method, handler)
    for (const [method, listener] of this.#listeners) peer.listen(method, listener)
    peer.listen('sidecar/starting', () => this.#wake())
    this.#watch = setInterval(() => this.#endIfHung(peer), this.#patience.hung / 10)
    this.#watch.unref()
    this.#greet(peer).catch(error => {
      // One that ended meanwhile says itself why.
      if (error instanceof RpcClosed || error instanceof SidecarDown) return
      this.#process.kill(`the sidecar refused the handshake: ${messageOf(error)}`)
    })
  }

  /** @param {Peer} peer */
  async #greet(peer) {
    const result = await peer.request('initialize', this.#initialize, { timeoutMs: HANDSHAKE_MS, watched: false })
    if (result.protocol !== this.#initialize.protocol) throw new Error(`it speaks protocol ${result.protocol}`)
    this.#ready = true
    this.#greeted = true
    this.#lastStart.succeeded()
    this.#onPhase('running', null)
    this.onReady(result)
    this.#wake()
  }

  /** @param {Peer} peer */
  #endIfHung(peer) {
    const silent = performance.now() - (peer.heardAt ?? -Infinity)
    const { hung } = this.#patience
    if (peer.oldestUnansweredMs <= hung || silent <= hung) return
    this.#process.kill('the sidecar hung: it answered nothing')
  }

  /** @param {string} reason */
  #lost(reason) {
    clearInterval(this.#watch)
    if (!this.#greeted && !this.#disposed) this.#lastStart.didFail(reason)
    this.#ready = false
    this.#peer?.close(new SidecarDown(reason))
    this.#peer = null
    this.#wake()
  }

  #wake() {
    for (const waiter of this.#waiters) waiter()
  }

  /** Waits until something about the process changed. @param {number} ms @param {AbortSignal} signal */
  async #change(ms, signal) {
    /** @type {() => void} */
    let done = () => {}
    const changed = new Promise(resolve => { done = () => resolve(undefined) })
    const timer = setTimeout(done, ms)
    this.#waiters.add(done)
    signal.addEventListener('abort', done, { once: true })
    await changed
    clearTimeout(timer)
    this.#waiters.delete(done)
    signal.removeEventListener('abort', done)
  }
}
