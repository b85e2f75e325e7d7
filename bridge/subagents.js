/**
 * Tells the sidecar when a subagent starts and when it ends, as facts of the root session that it works for. It owns
 * which session is whose child, as far as this process saw it, and the facts that no sidecar has taken yet: unlike the
 * log's entries they stand nowhere else. What one root's facts wait for holds up no other root's.
 * @import { Session, SessionEvent, SubagentEdge } from './host.js'
 * @import { Frames } from './frames.js'
 * @import { Sidecar } from './sidecar.js'
 */
import { isSubagent } from './entries.js'
import { RpcError } from './rpc.js'
import { shortened } from './text.js'

const TOLD_MS = 10_000
/** A chain of parents is followed so far; a longer one is a cycle. */
const MAX_DEPTH = 32
/** More facts than this aren't kept for a sidecar to come; the oldest go, and that is reported. */
const MAX_KEPT = 500

/** Why a fact can't be taken now and may be later. */
const LATER = new Set(['session_not_open', 'read_only', 'storage_unavailable', 'unanswered'])

/**
 * @typedef {'subagent/started' | 'subagent/settled'} Method
 * @typedef {{ parent?: string, label?: string, mode?: string }} Child
 * @typedef {{ root: string, method: Method, params: Frames['subagent/settled']['params'] }} Fact
 */

export class Subagents {
  #sidecar
  #report
  /** @type {Map<string, Child>} */ #children = new Map()
  /** Root sessions that went, and of whose children something is still known. @type {Set<string>} */ #gone = new Set()
  /** @type {Set<string>} */ #running = new Set()
  /** Facts whose root has yet to be looked for. */ #unplaced = 0
  /** Untold, oldest first. @type {Set<Fact>} */ #kept = new Set()
  /** The telling of each root's facts, one at a time. @type {Map<string, Promise<void>>} */ #telling = new Map()

  /** @param {Sidecar} sidecar @param {(place: string, error: unknown) => void} report */
  constructor(sidecar, report) {
    this.#sidecar = sidecar
    this.#report = report
  }

  /** @param {Session} session */
  add(session) {
    const { parentSession } = session.header
    if (!isSubagent(session)) this.#gone.delete(session.id)
    else if (parentSession) this.#note(session.id, { parent: parentSession })
  }

  /** A session went: with a root, what is known of its children, unless one is still at work. @param {Session} session */
  remove(session) {
    if (isSubagent(session)) return
    this.#gone.add(session.id)
    this.#forgetSoon(session.id)
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
    this.#happened('subagent/started', edge, {})
  }

  /** @param {SubagentEdge} edge */
  ended(edge) {
    this.#running.delete(edge.id)
    const closing = (edge.lastAssistantMessage ?? []).map(({ text }) => text ?? '').join('')
    this.#happened('subagent/settled', edge, {
      stop_reason: edge.stopReason ?? 'unknown',
      ...(closing ? { closing } : {}),
    })
  }

  /** A root session was opened in the sidecar: what it hasn't been told goes to it. @param {string} root */
  opened(root) {
    this.#tell(root)
  }

  /** @param {string} id @param {Child} child */
  #note(id, child) {
    this.#children.set(id, { ...this.#children.get(id), ...child })
  }

  /** @param {Method} method @param {SubagentEdge} edge @param {Record<string, string>} more */
  #happened(method, edge, more) {
    const run = edge.runId === undefined ? {} : { run: edge.runId }
    const fact = { child: edge.id, ...run, ...more, at: new Date().toISOString() }
    this.#unplaced += 1
    // The parent's log may name the child only after this.
    setImmediate(() => {
      this.#unplaced -= 1
      this.#keep(method, fact)
    })
  }

  /** @param {Method} method @param {{ child: string, at: string }} fact */
  #keep(method, fact) {
    const root = this.#rootOf(fact.child)
    if (root === null) return this.#report('subagents', new Error(`the parent of ${fact.child} isn't known`))
    const { label, mode } = this.#children.get(fact.child) ?? {}
    const named = { session: root, ...fact, ...(label === undefined ? {} : { label }) }
    const params = method === 'subagent/started' && mode !== undefined ? { ...named, mode } : named
    this.#kept.add({ root, method, params: /** @type {Fact['params']} */ (params) })
    const [oldest] = this.#kept
    if (this.#kept.size > MAX_KEPT && oldest) {
      this.#kept.delete(oldest)
      this.#report('subagents', new Error('too many facts wait for a sidecar; the oldest was dropped'))
    }
    if (this.#gone.has(root)) this.#forgetSoon(root)
    this.#tell(root)
  }

  /** @param {string} root */
  #tell(root) {
    const telling = (this.#telling.get(root) ?? Promise.resolve()).then(() => this.#tellAll(root))
    this.#telling.set(root, telling)
    void telling.then(() => {
      if (this.#telling.get(root) === telling) this.#telling.delete(root)
    })
  }

  /** Tells a root's facts in order, as far as they are taken. Never rejects. @param {string} root */
  async #tellAll(root) {
    for (const fact of [...this.#kept].filter(one => one.root === root)) {
      if (!this.#sidecar.ready) return
      try {
        await this.#sidecar.request(fact.method, fact.params, { timeoutMs: TOLD_MS })
      } catch (error) {
        const code = error instanceof RpcError ? (error.data?.code ?? 'refused') : 'unanswered'
        if (this.#sidecar.ready && code !== 'session_not_open') this.#report('subagents', error)
        // Kept: its session's next opening, or its next fact, sends it again.
        if (LATER.has(code)) return
      }
      this.#kept.delete(fact)
    }
  }

  /** @param {string} root */
  #forgetSoon(root) {
    setImmediate(() => this.#forget(root))
  }

  /** @param {string} root */
  #forget(root) {
    if (!this.#gone.has(root) || [...this.#running].some(child => this.#rootOf(child) === root)) return
    // A fact that is under way needs to know whose child it was.
    if (this.#unplaced) return this.#forgetSoon(root)
    this.#gone.delete(root)
    const gone = [...this.#children.keys()].filter(child => this.#rootOf(child) === root)
    for (const child of gone) this.#children.delete(child)
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
