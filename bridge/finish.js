/**
 * Holds a host open that is about to end, so that what happened in its last turn becomes state. Only the headless
 * program ends at idle; only maintenance begun in the listener itself holds it.
 * @import { Agent, Context } from './host.js'
 * @import { LogForwarder } from './log.js'
 * @import { Sidecar } from './sidecar.js'
 * @import { Subagents } from './subagents.js'
 */
import { isSubagent } from './entries.js'
import { UNWELL_MS } from './sidecar.js'

/** How often a sidecar that works on the round is asked whether it is alive; it must answer within UNWELL_MS. */
const PULSE_MS = 250
/** What the sidecar's answer may take beyond the time that it was given. */
const GRACE_MS = 2000

export class Finish {
  #sidecar
  #log
  #subagents
  #seconds

  /**
   * @param {Sidecar} sidecar
   * @param {LogForwarder} log
   * @param {Subagents} subagents
   * @param {number} seconds 0 never holds
   */
  constructor(sidecar, log, subagents, seconds) {
    this.#sidecar = sidecar
    this.#log = log
    this.#subagents = subagents
    this.#seconds = seconds
  }

  /**
   * The agent went idle. Called in the listener, before anything awaits.
   * @param {Context} ctx
   * @param {Agent} agent
   * @returns {Promise<void> | undefined}
   */
  idle(ctx, agent) {
    if (this.#seconds <= 0 || isSubagent(agent.session) || this.#subagents.anyRunning(agent.session.id)) return
    return agent.runMaintenance(async cancelled => {
      const woken = new AbortController()
      const stop = ctx.on('agent/inbox/inserted', info => {
        if (info.agent === agent) woken.abort()
      })
      try {
        await this.#hold(agent, AbortSignal.any([cancelled, woken.signal]))
      } finally {
        stop()
      }
    })
  }

  /** @param {Agent} agent @param {AbortSignal} signal */
  async #hold({ session }, signal) {
    if (!(await this.#sidecar.settled(signal))) return
    const over = new AbortController()
    const pulse = setInterval(() => {
      if (this.#sidecar.unwell || !this.#sidecar.ready) over.abort(new Error('the sidecar stopped answering'))
      else this.#sidecar.request('health/get', {}, { timeoutMs: UNWELL_MS }).catch(() => {})
    }, PULSE_MS)
    const either = AbortSignal.any([signal, over.signal])
    try {
      await Promise.race([this.#finish(session, either), aborted(either)])
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      clearInterval(pulse)
    }
  }

  /** @param {Agent['session']} session @param {AbortSignal} signal */
  async #finish(session, signal) {
    if (!(await this.#log.flush(session)) || signal.aborted) return
    const params = { session: session.id, timeout_s: this.#seconds }
    await this.#sidecar.request('round/finish', params, {
      timeoutMs: this.#seconds * 1000 + GRACE_MS,
      signal,
      watched: false,
    })
  }
}

/** @param {AbortSignal} signal @returns {Promise<never>} rejects with the signal's reason */
const aborted = signal =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
