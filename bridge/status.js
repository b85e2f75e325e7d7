/**
 * Where a person can see what is wrong: `status/<pid>.json` in the data folder, one file a host process, replaced whole
 * whenever it changes, and the host's log. It owns the counters of swallowed errors, and sweeps up after processes that
 * are gone. The host's loop never waits for the disk, but at its own end.
 * @import { Logger } from './host.js'
 * @import { Phase } from './process.js'
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { messageOf, within } from './guard.js'

/** Errors that come in a burst are written together. Milliseconds. */
const WRITE_MS = 500
/** The longest that the host's end waits for a write that is under way. Milliseconds. */
const END_MS = 250
/** One place is logged so often, then only counted. */
const MAX_LOGGED = 3

export class Status {
  #folder
  #file
  #logger
  /** @type {Phase} */ #sidecar = 'off'
  /** @type {string | null} */ #reason = null
  /** @type {Record<string, { count: number, last: string }>} */ #errors = {}
  /** @type {NodeJS.Timeout | undefined} */ #timer
  /** @type {Promise<void> | null} */ #writing = null
  #stale = false
  #ran = false

  /** @param {string} dataDir @param {Logger | undefined} logger */
  constructor(dataDir, logger) {
    this.#folder = path.join(dataDir, 'status')
    this.#file = path.join(this.#folder, `${process.pid}.json`)
    this.#logger = logger
    void this.#sweep(false)
  }

  /** @param {Phase} sidecar @param {string | null} reason null where all is well */
  phase(sidecar, reason) {
    if (sidecar === this.#sidecar && reason === this.#reason) return
    this.#sidecar = sidecar
    this.#reason = reason
    if (reason) this.#warn(`the sidecar is ${sidecar}: ${reason}`)
    if (sidecar === 'running' && !this.#ran) {
      this.#ran = true
      void this.#sweep(true)
    }
    this.#flush()
  }

  /** Counts an error that was kept from the host. @param {string} place @param {unknown} error */
  report(place, error) {
    const count = (this.#errors[place]?.count ?? 0) + 1
    this.#errors[place] = { count, last: messageOf(error) }
    if (count <= MAX_LOGGED) this.#warn(`${place}: ${messageOf(error)}`)
    this.#timer ??= setTimeout(() => this.#flush(), WRITE_MS).unref()
  }

  /** The host ends, or the plugin is unloaded. A trouble that was there to the end stays readable; else nothing does. */
  async ended() {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#writing) await within(this.#writing, END_MS, 'a write of the status').catch(() => {})
    if (this.#sidecar === 'running' || this.#sidecar === 'starting') {
      this.#sidecar = 'off'
      this.#reason = null
    }
    try {
      if (this.#reason === null && !Object.keys(this.#errors).length) return rmSync(this.#file, { force: true })
      writeFileSync(this.#draft, this.#text, { mode: 0o600 })
      renameSync(this.#draft, this.#file)
    } catch (error) {
      this.#unwritten(error)
    }
  }

  get #draft() {
    return `${this.#file}.tmp`
  }

  get #text() {
    const status = {
      pid: process.pid,
      at: new Date().toISOString(),
      sidecar: this.#sidecar,
      reason: this.#reason,
      errors: this.#errors,
    }
    return `${JSON.stringify(status, null, 2)}\n`
  }

  /** Brings the file up to date, one write at a time: what changes meanwhile is in the next one. */
  #flush() {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stale = true
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null
    })
  }

  async #write() {
    while (this.#stale) {
      this.#stale = false
      try {
        await mkdir(this.#folder, { recursive: true, mode: 0o700 })
        await writeFile(this.#draft, this.#text, { mode: 0o600 })
        await rename(this.#draft, this.#file)
      } catch (error) {
        this.#unwritten(error)
      }
    }
  }

  /**
   * Removes the files of processes that are gone: those that tell of no trouble, and of the others all but the newest.
   * @param {boolean} allIsWell a sidecar runs: then what an earlier process met is over, and all of them go
   */
  async #sweep(allIsWell) {
    try {
      const names = (await readdir(this.#folder)).filter(name => /^\d+\.json(\.tmp)?$/.test(name) && !alive(parseInt(name, 10)))
      const files = names.map(name => path.join(this.#folder, name))
      const kept = allIsWell ? undefined : (await Promise.all(files.map(troubled))).toSorted(byTime).at(-1)
      for (const file of files) if (file !== kept?.file || !kept.at) await rm(file, { force: true })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) this.report('status', error)
    }
  }

  /** It may be that it can't be written; then the host's log alone tells. @param {unknown} error */
  #unwritten(error) {
    this.#warn(`${this.#file} can't be written: ${messageOf(error)}`)
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

/** @param {number} pid @returns {boolean} whether a process of this id is there, ours or another user's */
function alive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * @param {string} file
 * @returns {Promise<{ file: string, at: string }>} when it told of a trouble, or nothing where it tells of none
 */
async function troubled(file) {
  if (file.endsWith('.tmp')) return { file, at: '' }
  try {
    const { at, reason, errors } = JSON.parse(await readFile(file, 'utf8'))
    const trouble = typeof at === 'string' && (reason !== null || Object.keys(errors).length > 0)
    return { file, at: trouble ? at : '' }
  } catch {
    // Half a file of a process that was killed tells nothing.
    return { file, at: '' }
  }
}

/** @param {{ at: string }} one @param {{ at: string }} other */
const byTime = (one, other) => (one.at < other.at ? -1 : 1)
