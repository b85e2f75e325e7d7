/**
 * The sidecar's process: one a host process. It owns starting it, its pipes, starting it again with growing pauses,
 * giving up after repeated failures, and ending it. What is said over the pipes is not its business.
 * @import { ChildProcessWithoutNullStreams } from 'node:child_process'
 * @import { Socket } from 'node:net'
 * @import { Runtime } from './runtime.js'
 * @import { SidecarLog } from './sidecar-log.js'
 */
import { spawn } from 'node:child_process'
import { NoRuntime } from './runtime.js'
import { messageOf } from './guard.js'

/**
 * All in milliseconds. `steady`: a process that lived this long starts the pauses anew. `window` and `failures`: so
 * many ends within it open the circuit, and then nothing is started until `nudge` is called `rest` after the last one.
 * `growth` is how many times longer the next pause is: with it, the longest is reached before the circuit opens.
 */
export const LIMITS = {
  firstPause: 1000,
  growth: 4,
  longestPause: 60_000,
  steady: 60_000,
  window: 600_000,
  failures: 5,
  rest: 60_000,
  farewell: 800,
  drain: 250,
}

/** Of the host's environment, what a Python program needs. Nothing that may hold a credential. */
const PASSED_ON = new Set([
  'PATH', 'HOME', 'LANG', 'LANGUAGE', 'TZ', 'TZDIR', 'TMPDIR', 'TEMP', 'TMP', 'USER', 'LOGNAME', 'LD_LIBRARY_PATH',
  // Windows
  'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'PATHEXT', 'COMSPEC',
])

/** @param {string} name of a variable @returns {boolean} */
const passedOn = name => PASSED_ON.has(name.toUpperCase()) || /^LC_[A-Z]+$/.test(name)

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string} home
 * @returns {Record<string, string>}
 */
export function childEnvironment(env, home) {
  /** @type {Record<string, string>} */
  const kept = {}
  for (const [name, value] of Object.entries(env)) if (value !== undefined && passedOn(name)) kept[name] = value
  return { ...kept, DSH_HOME: home, PYTHONUTF8: '1', PYTHONIOENCODING: 'utf-8', PYTHONUNBUFFERED: '1' }
}

/**
 * @typedef {'off' | 'starting' | 'running' | 'failed'} Phase
 * @typedef {{
 *   runtime: () => Runtime,
 *   cwd: string,
 *   env: Record<string, string>,
 *   log: SidecarLog,
 *   onStart: (child: ChildProcessWithoutNullStreams) => void,
 *   onEnd: (reason: string) => void,
 *   onPhase: (phase: Phase, reason: string | null) => void,
 * }} Hooks `runtime` may throw NoRuntime; `onStart` and `onEnd` come in pairs
 */

export class SidecarProcess {
  #hooks
  #limits
  /** @type {ChildProcessWithoutNullStreams | null} */ #child = null
  /** @type {Promise<void>} */ #ended = Promise.resolve()
  /** @type {NodeJS.Timeout | undefined} */ #restart
  /** @type {number[]} */ #failures = []
  #pause
  #disposed = false
  #startedAt = 0
  /** Why the running process was killed by us, said instead of its exit code. @type {string | null} */ #killed = null

  /** @param {Hooks} hooks @param {typeof LIMITS} [limits] */
  constructor(hooks, limits = LIMITS) {
    this.#hooks = hooks
    this.#limits = limits
    this.#pause = limits.firstPause
  }

  /** Milliseconds since the running process was started, or null where none runs. */
  get ageMs() {
    return this.#child ? performance.now() - this.#startedAt : null
  }

  /** Starts the process unless it runs, waits to be started again, was given up, or we are disposed. */
  start() {
    if (this.#disposed || this.#child || this.#restart) return
    this.#hooks.onPhase('starting', null)
    this.#startedAt = performance.now()
    try {
      this.#spawn(this.#hooks.runtime())
    } catch (error) {
      if (error instanceof NoRuntime) this.#hooks.onPhase('off', error.message)
      else this.#failed(messageOf(error))
    }
  }

  /** Something happened for which a sidecar is wanted: one that was given up a while ago gets another chance. */
  nudge() {
    const last = this.#failures.at(-1)
    if (last === undefined || performance.now() - last >= this.#limits.rest) this.start()
  }

  /**
   * Ends a process that can't be worked with; it is started again like one that ended by itself.
   * @param {string} reason said instead of its exit code, unless it has ended by itself already
   */
  kill(reason) {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    this.#killed ??= reason
    child.kill('SIGKILL')
  }

  /**
   * The process closed its end: it is about to end, and may be committing. What it says with its exit is the reason;
   * one that stays is ended for the reason that is given.
   * @param {string} reason
   */
  leaving(reason) {
    const child = this.#child
    if (!child) return
    child.stdin.end()
    setTimeout(() => {
      if (this.#child === child) this.kill(reason)
    }, this.#limits.drain).unref()
  }

  /**
   * Ends the process for good and leaves nothing behind, whatever it does. Resolves when it is gone.
   * @param {boolean} atOnce true where waiting for it to end by itself is of no use
   */
  async dispose(atOnce) {
    this.#disposed = true
    clearTimeout(this.#restart)
    const child = this.#child
    if (!child) return
    child.stdin.end()
    if (!atOnce) await this.#endedWithin(this.#limits.farewell)
    if (this.#child === child) {
      child.kill('SIGKILL')
      await this.#endedWithin(this.#limits.drain)
    }
    this.#release(child)
  }

  /** @param {Runtime} runtime */
  #spawn({ interpreter, args }) {
    const child = spawn(interpreter, args, {
      cwd: this.#hooks.cwd,
      env: this.#hooks.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      shell: false,
      windowsHide: true,
    })
    /** @param {string} _reason */
    let over = _reason => {}
    // Before anything else can throw, and for good: an error event that nobody hears ends the host.
    child.on('error', error => {
      if (child.pid === undefined) over(`${interpreter} can't be run: ${error.message}`)
      else this.#hooks.log.write(Buffer.from(`the host: ${error.message}\n`))
    })
    if (!child.stdin || !child.stdout || !child.stderr) throw new Error(`${interpreter} can't be run: no free descriptor`)
    this.#child = child
    this.#killed = null
    this.#hooks.log.begin()
    const killAtExit = () => child.kill('SIGKILL')
    process.once('exit', killAtExit)
    child.stderr.on('data', chunk => this.#hooks.log.write(chunk))
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {})
    this.#ended = new Promise(resolve => {
      over = reason => {
        if (this.#child !== child) return
        process.removeListener('exit', killAtExit)
        this.#child = null
        this.#release(child)
        this.#hooks.onEnd(reason)
        this.#failed(reason)
        resolve()
      }
      // The pipes may hold a last word; a grandchild that keeps them open isn't waited for.
      child.once('exit', (code, signal) => setTimeout(() => over(this.#reasonOf(code, signal)), this.#limits.drain).unref())
      child.once('close', (code, signal) => over(this.#reasonOf(code, signal)))
    })
    // The host's end never waits for ours.
    child.unref()
    for (const stream of [child.stdin, child.stdout, child.stderr]) /** @type {Socket} */ (stream).unref()
    this.#hooks.onStart(child)
  }

  /** @param {number | null} code @param {string | null} signal */
  #reasonOf(code, signal) {
    if (this.#killed) return this.#killed
    const words = this.#hooks.log.lastLine
    return `the sidecar ended with ${signal ? `signal ${signal}` : `code ${code}`}${words ? `: ${words}` : ''}`
  }

  /** @param {string} reason */
  #failed(reason) {
    if (this.#disposed) return
    const now = performance.now()
    const { window, failures, steady, firstPause, growth, longestPause } = this.#limits
    this.#failures = [...this.#failures.filter(at => now - at < window), now]
    if (this.#failures.length >= failures) {
      const span = `${window / 1000} s`
      return this.#hooks.onPhase('failed', `given up after ${failures} failures within ${span}; the last: ${reason}`)
    }
    if (now - this.#startedAt >= steady) this.#pause = firstPause
    this.#hooks.onPhase('failed', `${reason}; tried again in ${this.#pause / 1000} s`)
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.start()
    }, this.#pause)
    this.#restart.unref()
    this.#pause = Math.min(this.#pause * growth, longestPause)
  }

  /** @param {number} ms */
  async #endedWithin(ms) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    await Promise.race([this.#ended, new Promise(resolve => { timer = setTimeout(resolve, ms) })])
    clearTimeout(timer)
  }

  /** @param {ChildProcessWithoutNullStreams} child */
  #release(child) {
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
  }
}
