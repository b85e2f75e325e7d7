/**
 * The sidecar's stderr: its last 64 KiB in memory, and a bounded file with one predecessor. The file is shared by every
 * host of the home: each appends, and its real size decides when it is moved. The host's loop never waits for it: one
 * write is under way at a time, and what comes faster than the disk takes it loses its oldest part.
 */
import { appendFileSync } from 'node:fs'
import { appendFile, rename, stat } from 'node:fs/promises'

const TAIL_BYTES = 64 * 1024
const FILE_BYTES = 1024 * 1024
/** The most that waits for the disk. */
const WAITING_BYTES = 256 * 1024

/** @param {Buffer[]} parts @param {number} bytes @returns {Buffer} the last of them */
const last = (parts, bytes) => Buffer.concat(parts).subarray(-bytes)

export class SidecarLog {
  /** @type {Buffer} */ #tail = Buffer.alloc(0)
  /** @type {Buffer} */ #waiting = Buffer.alloc(0)
  #writing = false
  #file
  #onFault

  /**
   * @param {string} file where it goes; at 1 MiB it is moved to `<file>.1`, over the one before
   * @param {(place: string, error: unknown) => void} onFault
   */
  constructor(file, onFault) {
    this.#file = file
    this.#onFault = onFault
  }

  /** A new process: the last line is its own from here on. */
  begin() {
    this.#tail = Buffer.alloc(0)
  }

  /** @param {Buffer} chunk */
  write(chunk) {
    this.#tail = last([this.#tail, chunk], TAIL_BYTES)
    this.#waiting = last([this.#waiting, chunk], WAITING_BYTES)
    if (!this.#writing) void this.#drain()
  }

  /** The last line that says anything, at most 300 characters of it: the likeliest reason of an end. */
  get lastLine() {
    return this.#tail.toString('utf8').trimEnd().split('\n').at(-1)?.trim().slice(0, 300) ?? ''
  }

  /** The host ends: what still waits is written before this returns. */
  ended() {
    if (!this.#waiting.length) return
    try {
      appendFileSync(this.#file, this.#take(), { mode: 0o600 })
    } catch (error) {
      this.#onFault('sidecar.log', error)
    }
  }

  async #drain() {
    this.#writing = true
    try {
      while (this.#waiting.length) {
        const size = await sizeOf(this.#file)
        // At the host's end it was written meanwhile.
        if (!this.#waiting.length) return
        if (size && size + this.#waiting.length > FILE_BYTES) await rename(this.#file, `${this.#file}.1`)
        await appendFile(this.#file, this.#take(), { mode: 0o600 })
      }
    } catch (error) {
      this.#onFault('sidecar.log', error)
    } finally {
      this.#writing = false
    }
  }

  #take() {
    const taken = this.#waiting
    this.#waiting = Buffer.alloc(0)
    return taken
  }
}

/** @param {string} file @returns {Promise<number>} 0 where it isn't there */
const sizeOf = file =>
  stat(file).then(
    ({ size }) => size,
    error => {
      if (error?.code === 'ENOENT') return 0
      throw error
    },
  )
