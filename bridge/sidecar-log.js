/** The sidecar's stderr: its last 64 KiB in memory, and a bounded file with one predecessor. */
import { appendFileSync, renameSync, statSync } from 'node:fs'

const TAIL_BYTES = 64 * 1024
const FILE_BYTES = 1024 * 1024

export class SidecarLog {
  #tail = Buffer.alloc(0)
  #fileBytes = 0
  #file
  #onFault

  /**
   * @param {string} file where it goes; at 1 MiB it is moved to `<file>.1`, over the one before
   * @param {(place: string, error: unknown) => void} onFault
   */
  constructor(file, onFault) {
    this.#file = file
    this.#onFault = onFault
    this.#fileBytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  }

  /** @param {Buffer} chunk */
  write(chunk) {
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-TAIL_BYTES)
    const kept = chunk.subarray(-FILE_BYTES)
    try {
      if (this.#fileBytes + kept.length > FILE_BYTES) {
        if (this.#fileBytes) renameSync(this.#file, `${this.#file}.1`)
        this.#fileBytes = 0
      }
      appendFileSync(this.#file, kept, { mode: 0o600 })
      this.#fileBytes += kept.length
    } catch (error) {
      this.#onFault('sidecar.log', error)
    }
  }

  /** The last line that says anything, at most 300 characters of it: the likeliest reason of an end. */
  get lastLine() {
    return this.#tail.toString('utf8').trimEnd().split('\n').at(-1)?.trim().slice(0, 300) ?? ''
  }
}
