/**
 * Tells the sidecar when a subagent starts and when it ends, as facts of the root session that it works for. It owns
 * which session is whose child, as far as this process saw it, and the facts that no sidecar has taken yet: unlike the
 * log's entries they stand nowhere else.
 * @import { Session, SessionEvent, SubagentEdge } from './host.js'
 * @import { Frames } from './frames.js'
 * @import { Sidecar } from './sidecar.js'
 */
import { RpcError } from './rpc.js'
import { shortened } from './text.js'

const TOLD_MS = 10_000
/** A chain of parents is followed so far; a longer one is a cycle. */
const MAX_DEPTH = 32
/** More facts than this aren't kept for a sidecar to come; the oldest go, and that is reported. */
const MAX_KEPT = 500

/**
 * @typedef {'subagent/started' | 'subagent/settled'} Method
 * @typedef {{ parent?: string, label?: string, mode?: string }} Child
 * @typedef {{ method: Method, child: string, params: Omit<Frames['subagent/settled']['params'], 'session' | 'label'> }}
 *   Fact
 */

export class Subagents {
  #sidecar
  #report
  /** @type {Map<string, Child>} */ #children = new Map()
  /** @type {Set<string>} */ #running = new Set()
  /** @type {Fact[]} */ #kept = []
  #telling = false

  /** @param {Sidecar} sidecar @param {(place: string, error: unknown) => void} report */
  constructor(sidecar, report) {
    this.#sidecar = sidecar
    this.#report = report
  }

  /** @param {Session} session */
  add({ id, header: { origin, parentSession } }) {
    if (origin === 'subagent' && parentSession) this.#note(id, { parent: parentSession })
  }

  /**
   * A parent's log names its children: their labels stand nowhere else.
   * @param {Session} session
   * @param {SessionEvent} event
   */
  grew(session, { type, data }) {
    if (type !== 'subagent/catalog' || typeof data?.childId !== 'string') return
    const { childId, label, mode } = data
    this.#note(childId, {
      parent: session.id,
      ...(typeof label === 'string' ? { label: shortened(label) } : {}),
      ...(typeof mode === 'string' ? { mode } : {}),
    })
  }

  /**
   * Whether a child of this session, or a child's child, is at work, or one whose parent isn't known.
   * @param {string} root
   */
  anyRunning(root) {
    return [...this.#running].some(child => [root, null].includes(this.#rootOf(child)))
  }

  /** @param {SubagentEdge} edge */
  started(edge) {
    this.#running.add(edge.id)
    this.#keep('subagent/started', edge, {})
  }

  /** @param {SubagentEdge} edge */
  ended(edge) {
    this.#running.delete(edge.id)
    const closing = (edge.lastAssistantMessage ?? []).map(({ text }) => text ?? '').join('')
    this.#keep('subagent/settled', edge, {
      stop_reason: edge.stopReason ?? 'unknown',
      ...(closing ? { closing } : {}),
    })
  }

  /** A root session was opened in the sidecar: what it hasn't been told goes to it. */
  opened() {
    void this.#tell()
  }

  /** @param {string} id @param {Child} child */
  #note(id, child) {
    this.#children.set(id, { ...this.#children.get(id), ...child })
  }

  /** @param {Method} method @param {SubagentEdge} edge @param {Record<string, string>} more */
  #keep(method, edge, more) {
    const run = edge.runId === undefined ? {} : { run: edge.runId }
    const params = /** @type {Fact['params']} */ ({ child: edge.id, ...run, ...more, at: new Date().toISOString() })
    this.#kept.push({ method, child: edge.id, params })
    if (this.#kept.length > MAX_KEPT) {
      this.#kept.shift()
      this.#report('subagents', new Error('too many facts wait for a sidecar; the oldest was dropped'))
    }
    // The parent's log may name the child only after this.
    setImmediate(() => void this.#tell())
  }

  async #tell() {
    if (this.#telling) return
    this.#telling = true
    try {
      for (let fact = this.#kept[0]; fact && this.#sidecar.ready; fact = this.#kept[0]) {
        await this.#send(fact)
        this.#kept.shift()
      }
    } catch (error) {
      // The fact is kept; the next sidecar, or the next fact, sends it again.
      if (this.#sidecar.ready) this.#report('subagents', error)
    } finally {
      this.#telling = false
    }
  }

  /** @param {Fact} fact */
  async #send({ method, child, params }) {
    const session = this.#rootOf(child)
    if (session === null) return this.#report('subagents', new Error(`the parent of ${child} isn't known`))
    const { label, mode } = this.#children.get(child) ?? {}
    const named = { session, ...params, ...(label === undefined ? {} : { label }) }
    const started = method === 'subagent/started' && mode !== undefined ? { ...named, mode } : named
    try {
      await this.#sidecar.request(method, started, { timeoutMs: TOLD_MS })
    } catch (error) {
      if (!(error instanceof RpcError) || error.data?.code === 'session_not_open') throw error
      this.#report('subagents', error)
    }
  }

  /**
   * @param {string} child
   * @returns {string | null} the session at the top of its chain of parents; null where it isn't known
   */
  #rootOf(child) {
    let id = child
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const parent = this.#children.get(id)?.parent
      if (parent === undefined) return id === child ? null : id
      id = parent
    }
    return null
  }
}
