/**
 * Whether the last start of a sidecar in this home failed: the file `start-failed` in the data folder is there until a
 * start succeeds. While it is, nobody waits for a start.
 */
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

export class LastStart {
  #file
  #report
  #failed
  /** @type {Promise<void>} the newest write; they follow each other */ #written = Promise.resolve()

  /** @param {string} dataDir @param {(place: string, error: unknown) => void} report */
  constructor(dataDir, report) {
    this.#file = path.join(dataDir, 'start-failed')
    this.#report = report
    this.#failed = existsSync(this.#file)
  }

  get failed() {
    return this.#failed
  }

  /** Resolves when all that was noted is on the disk. */
  get written() {
    return this.#written
  }

  /** @param {string} reason */
  didFail(reason) {
    if (this.#failed) return
    this.#failed = true
    this.#then(() => writeFile(this.#file, `${new Date().toISOString()} ${reason}\n`, { mode: 0o600 }))
  }

  /** A start succeeded, here; another host of the home may have noted a failure meanwhile. */
  succeeded() {
    this.#failed = false
    this.#then(() => rm(this.#file, { force: true }))
  }

  /** @param {() => Promise<void>} work */
  #then(work) {
    this.#written = this.#written.then(work).catch(error => this.#report('start-failed', error))
  }
}
