/**
 * The host's side in memory: a session whose log and surface follow the host's own rules, and a sidecar that answers.
 */
import { randomUUID } from 'node:crypto'

const SURFACE = new Set(['system/message', 'user/message', 'assistant/message', 'tool/result'])

/** A session: append-only log, and a surface of message entries that replacements shadow. */
export class FakeSession {
  log = []
  nodes = []

  constructor(id, header = {}, inheritedEventCount = 0) {
    this.id = id
    this.header = { id, cwd: '/work', ...header }
    this.inheritedEventCount = inheritedEventCount
  }

  get seq() {
    return this.log.length
  }

  get surface() {
    return { nodes: this.nodes }
  }

  eventAt(seq) {
    return this.log[seq]
  }

  append(type, data, options = {}) {
    const event = { seq: this.log.length, time: 1_800_000_000_000 + this.log.length, type, data, ...options }
    const { surfaceOp } = options
    if (SURFACE.has(type) && (surfaceOp === undefined || surfaceOp === 'append')) this.nodes.push(event.seq)
    else if (SURFACE.has(type)) {
      const first = this.nodes.indexOf(surfaceOp.startSeq)
      const last = this.nodes.indexOf(surfaceOp.endSeq)
      if (first < 0 || last < first) throw new Error('surface replace: not on the surface')
      const shadowed = this.nodes.slice(first, last + 1)
      if (shadowed.some(seq => !options.sourceEventSeqs?.includes(seq))) throw new Error('sourceEventSeqs are incomplete')
      this.nodes.splice(first, shadowed.length, event.seq)
    }
    this.log.push(event)
    return event
  }

  /** The model's view: the texts of what stands on the surface. */
  get texts() {
    return this.nodes.flatMap(seq => {
      const { type, data } = this.log[seq]
      const content = type === 'user/message' ? data.content : (data.message?.content ?? [])
      return content.map(block => block.text)
    })
  }
}

/** @returns a user message's data */
export const said = (text, source = { kind: 'user' }) => ({
  role: 'user',
  id: randomUUID(),
  content: [{ type: 'text', text }],
  source,
})

/** A sidecar that keeps a log of its requests; `answers[method]` is a value or a function of the params. */
export class FakeSidecar {
  ready = true
  /** Whether a start is under way that succeeds when it is waited for. */
  starting = false
  requests = []
  answers = {}

  async request(method, params) {
    if (!this.ready) throw new Error('there is no sidecar')
    this.requests.push({ method, params: structuredClone(params) })
    const answer = this.answers[method]
    return typeof answer === 'function' ? answer(params) : (answer ?? null)
  }

  async settled() {
    await new Promise(resolve => setImmediate(resolve))
    this.ready ||= this.starting
    return this.ready
  }

  of(method) {
    return this.requests.filter(request => request.method === method).map(({ params }) => params)
  }
}
