/**
 * A JSON-RPC 2.0 peer over a pair of byte streams, framed as in the Language Server Protocol. It owns the requests in
 * flight both ways, their deadlines and cancellation. It knows no method by name but `$/cancelRequest`.
 * @import { Readable, Writable } from 'node:stream'
 * @import { Frames } from './frames.js'
 */
import { toJson } from './text.js'

/** The largest frame that either side takes, in bytes. A longer one means that the stream can't be trusted any more. */
export const MAX_FRAME = 8 * 1024 * 1024
const MAX_HEADER = 8 * 1024
const CANCELLED = -32800

/** What the other side answered instead of a result; `data` is as it came. */
export class RpcError extends Error {
  /** @param {number} code @param {string} message @param {any} [data] */
  constructor(code, message, data) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** No answer came within the deadline. */
export class RpcTimeout extends Error {}

/** The connection ended before an answer came. */
export class RpcClosed extends Error {}

/** The connection was given up, since what comes over it can't be trusted any more. */
export class RpcGarbled extends RpcClosed {}

/**
 * @typedef {{ sentAt: number, watched: boolean, settle?: (error: Error | null, result?: unknown) => void }} Waiting
 *   a request of ours without an answer; `settle` is gone once its caller gave up
 * @typedef {{ timeoutMs: number, signal?: AbortSignal, watched?: boolean }} RequestOptions
 *   `watched: false` marks a request that may honestly take long: its age says nothing about the other side's health
 */

export class Peer {
  /** @type {Buffer[]} */ #chunks = []
  #held = 0
  /** @type {number | null} */ #body = null
  #nextId = 1
  /** @type {Map<number, Waiting>} */ #waiting = new Map()
  /** @type {Map<number | string, AbortController>} */ #serving = new Map()
  /** @type {Map<string, (params: any, signal: AbortSignal) => unknown>} */ #handlers = new Map()
  /** @type {Map<string, (params: any) => void>} */ #listeners = new Map()
  /** @type {Error | null} */ #closed = null
  #output
  #onClose
  #onFault
  /**
   * When anything last came from the other side, or null: on the clock of `performance.now()`.
   * @type {number | null}
   */
  heardAt = null

  /**
   * @param {Readable} input
   * @param {Writable} output
   * @param {{ onClose?: (reason: Error) => void, onFault?: (place: string, error: unknown) => void }} [hooks]
   *   `onClose` is called once; `onFault` for what the peer answered or dropped by itself
   */
  constructor(input, output, { onClose = () => {}, onFault = () => {} } = {}) {
    this.#output = output
    this.#onClose = onClose
    this.#onFault = onFault
    input.on('data', chunk => this.#feed(chunk))
    input.on('end', () => this.close(new RpcClosed('the other side closed the connection')))
    input.on('error', error => this.close(error))
    output.on('error', error => this.close(error))
  }

  /**
   * Answers a method's requests. The result is what `handler` returns or resolves to; an RpcError is answered as such,
   * any other error as -32603 without its text.
   * @template {keyof Frames} M
   * @param {M} method
   * @param {(params: Frames[M]['params'], signal: AbortSignal) => Frames[M]['result'] | Promise<Frames[M]['result']>}
   *   handler
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
   * @throws {RpcError | RpcTimeout | RpcClosed} or the signal's reason
   */
  request(method, params, { timeoutMs, signal, watched = true }) {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(this.#closed)
      if (signal?.aborted) return reject(signal.reason)
      const id = this.#nextId++
      /** @type {Waiting} */
      const waiting = { sentAt: performance.now(), watched }
      const release = () => {
        delete waiting.settle
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      /** @param {unknown} reason */
      const giveUp = reason => {
        release()
        this.#send({ method: '$/cancelRequest', params: { id } })
        reject(reason)
      }
      const onAbort = () => giveUp(signal?.reason)
      const onTimeout = () => giveUp(new RpcTimeout(`${method}: no answer within ${timeoutMs / 1000} s`))
      const timer = setTimeout(onTimeout, timeoutMs)
      timer.unref()
      signal?.addEventListener('abort', onAbort, { once: true })
      waiting.settle = (error, result) => {
        release()
        if (error) reject(error)
        else resolve(/** @type {Frames[M]['result']} */ (result))
      }
      this.#waiting.set(id, waiting)
      try {
        this.#send({ id, method, params })
      } catch (error) {
        this.#waiting.delete(id)
        release()
        reject(error)
      }
    })
  }

  /** Milliseconds since the oldest watched request that is still unanswered was sent; 0 where there is none. */
  get oldestUnansweredMs() {
    for (const { sentAt, watched } of this.#waiting.values()) if (watched) return performance.now() - sentAt
    return 0
  }

  /** Ends the peer: every request in flight, both ways, is over. The streams stay as they are. @param {Error} reason */
  close(reason) {
    if (this.#closed) return
    this.#closed = reason
    for (const controller of this.#serving.values()) controller.abort(reason)
    for (const { settle } of this.#waiting.values()) settle?.(reason)
    this.#serving.clear()
    this.#waiting.clear()
    this.#onClose(reason)
  }

  /** @param {Record<string, unknown>} frame */
  #send(frame) {
    if (this.#closed) return
    const body = Buffer.from(toJson({ jsonrpc: '2.0', ...frame }), 'utf8')
    this.#output.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`, 'ascii'), body]))
  }

  /** @param {Buffer} chunk */
  #feed(chunk) {
    if (this.#closed) return
    this.heardAt = performance.now()
    this.#chunks.push(chunk)
    this.#held += chunk.length
    while (!this.#closed && this.#take()) {}
  }

  /** Takes one header or one body off what came. @returns {boolean} whether there may be more */
  #take() {
    if (this.#body !== null) {
      if (this.#held < this.#body) return false
      const held = this.#gather()
      const length = this.#body
      this.#body = null
      this.#keep(held.subarray(length))
      this.#receive(held.subarray(0, length))
      return true
    }
    const held = this.#gather()
    const end = held.indexOf('\r\n\r\n')
    if (end < 0 && held.length <= MAX_HEADER) return false
    const length = end < 0 ? null : /^content-length:[ \t]*(\d{1,10})[ \t]*$/im.exec(held.toString('latin1', 0, end))
    if (!length?.[1] || Number(length[1]) > MAX_FRAME) {
      this.close(new RpcGarbled('the other side sent a frame that is malformed or too long'))
      return false
    }
    this.#body = Number(length[1])
    this.#keep(held.subarray(end + 4))
    return true
  }

  #gather() {
    const held = this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks)
    this.#chunks = [held]
    return held
  }

  /** @param {Buffer} rest */
  #keep(rest) {
    this.#chunks = rest.length ? [rest] : []
    this.#held = rest.length
  }

  /** @param {Buffer} body */
  #receive(body) {
    /** @type {any} */
    let frame
    try {
      frame = JSON.parse(body.toString('utf8'))
    } catch (error) {
      this.#onFault('rpc', error)
      return this.#send({ id: null, error: { code: -32700, message: 'not JSON' } })
    }
    if (typeof frame !== 'object' || frame === null || Array.isArray(frame)) {
      return this.#send({ id: null, error: { code: -32600, message: 'a frame is one JSON object' } })
    }
    if (typeof frame.method !== 'string') return this.#settle(frame)
    if (frame.id === undefined) return this.#notified(frame)
    return void this.#serve(frame)
  }

  /** @param {any} frame */
  #settle(frame) {
    const waiting = this.#waiting.get(frame.id)
    // An answer without an id says that the other side couldn't read something of ours, but not what.
    if (!waiting && frame.error) this.#onFault('rpc', new RpcError(frame.error.code, String(frame.error.message)))
    if (!waiting) return
    this.#waiting.delete(frame.id)
    const { error } = frame
    waiting.settle?.(error ? new RpcError(error.code, String(error.message), error.data) : null, frame.result)
  }

  /** @param {any} frame */
  #notified(frame) {
    if (frame.method === '$/cancelRequest') return this.#serving.get(frame.params?.id)?.abort()
    try {
      this.#listeners.get(frame.method)?.(frame.params ?? {})
    } catch (error) {
      this.#onFault(frame.method, error)
    }
  }

  /** @param {any} frame */
  async #serve({ id, method, params }) {
    const handler = this.#handlers.get(method)
    if (!handler) return this.#send({ id, error: { code: -32601, message: `no method ${method}` } })
    if (this.#serving.has(id)) return this.#send({ id: null, error: { code: -32600, message: 'this id is in flight' } })
    const controller = new AbortController()
    this.#serving.set(id, controller)
    try {
      const result = await handler(params ?? {}, controller.signal)
      this.#serving.delete(id)
      this.#send({ id, result: result ?? null })
    } catch (error) {
      this.#serving.delete(id)
      this.#send({ id, error: this.#faultOf(method, error, controller.signal) })
    }
  }

  /** @param {string} method @param {unknown} error @param {AbortSignal} signal */
  #faultOf(method, error, signal) {
    if (signal.aborted) return { code: CANCELLED, message: 'cancelled' }
    if (error instanceof RpcError) return { code: error.code, message: error.message, data: error.data }
    this.#onFault(method, error)
    return { code: -32603, message: `${method} failed in the host` }
  }
}
