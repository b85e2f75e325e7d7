/**
 * Where a person can see what is wrong: `bridge-status.json` in the data folder, replaced whole whenever it changes,
 * and the host's log. It owns the counters of swallowed errors.
 * @import { Logger } from './host.js'
 * @import { Phase } from './process.js'
 */
import { renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from './guard.js'

/** Errors that come in a burst are written together. Milliseconds. */
const WRITE_MS = 500
/** One place is logged so often, then only counted. */
const MAX_LOGGED = 3

export class Status {
  #file
  #logger
  /** @type {Phase} */ #sidecar = 'off'
  /** @type {string | null} */ #reason = null
  /** @type {Record<string, { count: number, last: string }>} */ #errors = {}
  /** @type {NodeJS.Timeout | undefined} */ #timer

  /** @param {string} dataDir @param {Logger | undefined} logger */
  constructor(dataDir, logger) {
    this.#file = path.join(dataDir, 'bridge-status.json')
    this.#logger = logger
  }

  /** @param {Phase} sidecar @param {string | null} reason null where all is well */
  phase(sidecar, reason) {
    if (sidecar === this.#sidecar && reason === this.#reason) return
    this.#sidecar = sidecar
    this.#reason = reason
    if (reason) this.#warn(`the sidecar is ${sidecar}: ${reason}`)
    this.flush()
  }

  /** The host ends, or the plugin is unloaded. A trouble that was there to the end stays readable. */
  ended() {
    if (this.#sidecar === 'running' || this.#sidecar === 'starting') this.phase('off', null)
    this.flush()
  }

  /** Counts an error that was kept from the host. @param {string} place @param {unknown} error */
  report(place, error) {
    const count = (this.#errors[place]?.count ?? 0) + 1
    this.#errors[place] = { count, last: messageOf(error) }
    if (count <= MAX_LOGGED) this.#warn(`${place}: ${messageOf(error)}`)
    this.#timer ??= setTimeout(() => this.flush(), WRITE_MS).unref()
  }

  /** Writes the file now. It may be that it can't be written; then the host's log alone tells. */
  flush() {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const status = {
      pid: process.pid,
      at: new Date().toISOString(),
      sidecar: this.#sidecar,
      reason: this.#reason,
      errors: this.#errors,
    }
    const draft = `${this.#file}.${process.pid}.tmp`
    try {
      writeFileSync(draft, `${JSON.stringify(status, null, 2)}\n`, { mode: 0o600 })
      renameSync(draft, this.#file)
    } catch (error) {
      this.#warn(`${this.#file} can't be written: ${messageOf(error)}`)
    }
  }

  /** @param {string} text */
  #warn(text) {
    try {
      this.#logger?.warn(`foldstate: ${text}`)
    } catch {
      // A logger that fails must not become the fault that it is told of.
    }
  }
}
