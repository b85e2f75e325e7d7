/**
 * Answers the sidecar's editor with the host's own model, in a call of its own that leaves no trace in any session's
 * log. One call at a time for the whole host.
 * @import { Chunk, Context, Message, ModelInfo, ModelRoute } from './host.js'
 * @import { EditorMessage, Frames } from './frames.js'
 */
import { randomUUID } from 'node:crypto'
import { RpcError } from './rpc.js'
import { SOURCE_KIND } from './surface.js'

const FAILED = -32603

/** @param {string} code @param {string} message */
const fault = (code, message) => new RpcError(FAILED, message, { code })

/**
 * The least thinking that the model offers: a small token limit would be spent on it, and the answer come back empty.
 * @param {ModelInfo} model
 * @returns {string | undefined}
 */
function leastEffort(model) {
  const efforts = model.reasoning?.efforts ?? []
  return (efforts.find(({ id }) => id === 'off') ?? efforts[0])?.id
}

/** @param {EditorMessage} message @param {ModelRoute} route @returns {Message} */
function messageOf({ role, text }, { provider, model }) {
  const source = role === 'assistant' ? { kind: 'model', provider, model } : { kind: SOURCE_KIND, role: 'editor' }
  return { role, id: randomUUID(), content: [{ type: 'text', text }], source }
}

/** @param {ModelRoute | undefined} route @returns {route is Required<ModelRoute>} */
const complete = route => Boolean(route?.provider && route.model)

export class Editor {
  #ctx
  #preferred
  /** The call before; the next one waits for it. @type {Promise<unknown>} */ #before = Promise.resolve()

  /** @param {Context} ctx @param {ModelRoute} preferred the settings' own route; what it leaves empty the session's has */
  constructor(ctx, preferred) {
    this.#ctx = ctx
    this.#preferred = preferred
  }

  /**
   * @param {Frames['editor/complete']['params']} params its `timeout_s` covers waiting for other calls too
   * @param {AbortSignal} cancelled
   * @returns {Promise<Frames['editor/complete']['result']>}
   * @throws {RpcError} with `data.code` editor_unavailable, editor_failed, editor_timeout or editor_empty
   */
  async complete(params, cancelled) {
    const over = new AbortController()
    const timer = setTimeout(
      () => over.abort(fault('editor_timeout', `the model gave no answer within ${params.timeout_s} s`)),
      params.timeout_s * 1000,
    )
    const onCancel = () => over.abort(cancelled.reason)
    cancelled.addEventListener('abort', onCancel, { once: true })
    /** @type {Promise<never>} */
    const given = new Promise((_, reject) => over.signal.addEventListener('abort', () => reject(over.signal.reason)))
    const answer = Promise.race([this.#before.then(() => this.#call(params, over.signal)), given])
    // A call that was given up frees its place, even where the model goes on and on.
    // What is kept of it is that it is over, and not the answer.
    this.#before = Promise.allSettled([this.#before, answer]).then(() => {})
    try {
      return await answer
    } finally {
      clearTimeout(timer)
      cancelled.removeEventListener('abort', onCancel)
    }
  }

  /** @param {Frames['editor/complete']['params']} params @param {AbortSignal} signal */
  async #call({ session, system, messages, max_tokens }, signal) {
    signal.throwIfAborted()
    const llm = this.#ctx.get('llm')
    const route = this.#routeFor(session)
    if (!llm || !route) throw fault('editor_unavailable', 'the host has no model to ask: choose one in its settings')
    const call = await llm.prepareCall(route, signal, (_controls, model) => {
      const reasoningEffort = leastEffort(model)
      return { maxTokens: max_tokens, ...(reasoningEffort === undefined ? {} : { reasoningEffort }) }
    })
    const stream = call.stream({
      ...call.config,
      system,
      messages: messages.map(message => messageOf(message, route)),
      purpose: 'foldstate',
      signal,
    })
    return this.#read(stream, route.model)
  }

  /**
   * @param {AsyncIterable<Chunk>} stream
   * @param {string} model
   * @returns {Promise<Frames['editor/complete']['result']>}
   */
  async #read(stream, model) {
    let text = ''
    /** @type {Chunk['usage']} */
    let usage
    /** @type {Chunk['reason']} */
    let finish
    for await (const chunk of stream) {
      if (chunk.type === 'text-delta') text += chunk.text ?? ''
      else if (chunk.type === 'usage') usage = chunk.usage
      else if (chunk.type === 'finish') finish = chunk.reason
    }
    if (finish?.kind === 'error' || finish?.kind === 'aborted') {
      throw fault('editor_failed', `the model's call failed: ${finish.failure?.message ?? finish.kind}`)
    }
    if (!text.trim()) {
      throw fault('editor_empty', `the model's answer is empty (it ended with ${finish?.kind ?? 'nothing'})`)
    }
    return {
      text,
      model,
      ...(finish ? { finish: finish.kind } : {}),
      ...(usage ? { usage: { input_tokens: usage.inputTokens ?? 0, output_tokens: usage.outputTokens ?? 0 } } : {}),
    }
  }

  /** @param {string} id @returns {Required<ModelRoute> | null} */
  #routeFor(id) {
    const wanted = this.#preferred
    const routes = [
      wanted,
      this.#ctx.get('sessions')?.get(id)?.requestHeader?.()?.config,
      this.#ctx.get('agents')?.get(id)?.options,
      this.#ctx.get('agentDefaultModel')?.currentSelection(),
    ]
    // Half a route of the settings is filled from the next one; the host's own are taken whole, or not at all.
    const half = wanted.provider || wanted.model
    const provider = (half ? routes.find(route => route?.provider) : routes.find(complete))?.provider
    const model = (half ? routes.find(route => route?.model) : routes.find(complete))?.model
    return provider && model ? { provider, model } : null
  }
}
