import assert from 'node:assert/strict'
import { test } from 'node:test'
import v8 from 'node:v8'
import vm from 'node:vm'
import { Editor } from '../../bridge/editor.js'
import { until } from './support/until.mjs'

const ASKED = {
  session: 's',
  batch_id: 'b',
  attempt: 1,
  system: 'rules',
  messages: [{ role: 'user', text: 'round' }, { role: 'assistant', text: 'bad' }, { role: 'user', text: 'mend' }],
  max_tokens: 500,
  timeout_s: 20,
}
const never = new AbortController().signal
const DONE = [
  { type: 'text-delta', text: '{"a":' },
  { type: 'reasoning-delta', text: 'hm' },
  { type: 'text-delta', text: ' 1}' },
  { type: 'usage', usage: { inputTokens: 10, outputTokens: 3 } },
  { type: 'finish', reason: { kind: 'stop' } },
]

/** A host with a model that says `chunks`. */
function asking({ chunks = DONE, efforts = ['off', 'low'], preferred = {}, header, agent, selection, llm = true } = {}) {
  const calls = []
  const service = {
    async prepareCall(route, _signal, configure) {
      const config = { ...route, ...configure({}, efforts ? { reasoning: { efforts: efforts.map(id => ({ id })) } } : {}) }
      return {
        config,
        async *stream(options) {
          calls.push(options)
          yield* typeof chunks === 'function' ? chunks(options, calls.length) : chunks
        },
      }
    },
  }
  const services = {
    llm: llm ? service : undefined,
    sessions: { get: () => ({ requestHeader: () => header }) },
    agents: { get: () => agent },
    agentDefaultModel: { currentSelection: () => selection },
  }
  return { editor: new Editor({ get: name => services[name] }, preferred), calls }
}

const ROUTE = { provider: 'p', model: 'm' }
const at = (provider, model) => ({ provider, model })

test('the answer is the text of the stream, with its finish, model and usage', async () => {
  const { editor } = asking({ selection: ROUTE })
  assert.deepEqual(await editor.complete(ASKED, never), {
    text: '{"a": 1}',
    model: 'm',
    finish: 'stop',
    usage: { input_tokens: 10, output_tokens: 3 },
  })
})

test('the call carries the prompt, the earlier answers as the assistant\'s, the limit, and no session', async () => {
  const { editor, calls } = asking({ selection: ROUTE })
  await editor.complete(ASKED, never)
  const [{ system, messages, maxTokens, reasoningEffort, ...rest }] = calls
  assert.equal(system, 'rules')
  assert.deepEqual(messages.map(({ role, content }) => [role, content[0].text]), [['user', 'round'], ['assistant', 'bad'], ['user', 'mend']])
  assert.equal(new Set(messages.map(({ id }) => id)).size, 3)
  assert.equal(maxTokens, 500)
  assert.equal(reasoningEffort, 'off')
  assert.equal('sessionId' in rest, false)
})

for (const [efforts, effort] of [[['low', 'off'], 'off'], [['low', 'high'], 'low'], [null, undefined]]) {
  test(`of the efforts ${JSON.stringify(efforts)} it takes ${effort}`, async () => {
    const { editor, calls } = asking({ selection: ROUTE, efforts })
    await editor.complete(ASKED, never)
    assert.equal(calls[0].reasoningEffort, effort)
    assert.equal('reasoningEffort' in calls[0], effort !== undefined)
  })
}

for (const [what, host, model, provider = 'p'] of [
  ['the settings', { preferred: at('p', 'ours'), header: { config: at('p', 'header') } }, 'ours'],
  ["the session's last request", { preferred: at('p', ''), header: { config: at('p', 'header') }, agent: { options: at('p', 'agent') } }, 'header'],
  ['the settings, its provider from the session', { preferred: at('', 'ours'), header: { config: at('q', 'header') } }, 'ours', 'q'],
  ['the session, its provider from the settings', { preferred: at('ours', ''), header: { config: at('q', 'header') } }, 'header', 'ours'],
  ['the settings, its provider from an agent without a model', { preferred: at('', 'ours'), agent: { options: { provider: 'q' } } }, 'ours', 'q'],
  ['the agent', { agent: { options: at('p', 'agent') }, selection: ROUTE }, 'agent'],
  ["the host's selection", { agent: { options: {} }, selection: ROUTE }, 'm'],
]) {
  test(`the model can come from ${what}`, async () => {
    const { editor, calls } = asking(host)
    await editor.complete(ASKED, never)
    assert.deepEqual([calls[0].provider, calls[0].model], [provider, model])
  })
}

for (const [what, host, code] of [
  ['a host without a route', {}, 'editor_unavailable'],
  ['a model that no provider has', { preferred: at('', 'ours'), agent: { options: {} } }, 'editor_unavailable'],
  ['a host without models', { llm: false, selection: ROUTE }, 'editor_unavailable'],
  ['an answer of white space', { selection: ROUTE, chunks: [{ type: 'text-delta', text: ' \n' }, { type: 'finish', reason: { kind: 'max-tokens' } }] }, 'editor_empty'],
  ['a failed call', { selection: ROUTE, chunks: [{ type: 'finish', reason: { kind: 'error', failure: { message: 'quota' } } }] }, 'editor_failed'],
]) {
  test(`${what} is the error ${code}`, async () => {
    const { editor } = asking(host)
    await assert.rejects(editor.complete(ASKED, never), error => error.data.code === code && error.code === -32603)
  })
}

/** A model that answers only when it is told to. */
function slowly() {
  const release = []
  const chunks = async function* (_options, number) {
    await new Promise(resolve => release.push(resolve))
    yield { type: 'text-delta', text: `answer ${number}` }
  }
  return { release, ...asking({ selection: ROUTE, chunks }) }
}

test('one call is made at a time', async () => {
  const { editor, calls, release } = slowly()
  const both = [editor.complete(ASKED, never), editor.complete(ASKED, never)]
  await until('the first begins', () => release.length === 1)
  assert.equal(calls.length, 1)
  release[0]()
  await until('the second begins', () => release.length === 2)
  release[1]()
  assert.deepEqual((await Promise.all(both)).map(({ text }) => text), ['answer 1', 'answer 2'])
})

test('a call that takes too long is the error editor_timeout', async () => {
  const { editor } = slowly()
  await assert.rejects(editor.complete({ ...ASKED, timeout_s: 0.02 }, never), error => error.data.code === 'editor_timeout')
})

test('a cancelled call is over at once, and one that waited for its turn is never made', async () => {
  const { editor, calls, release } = slowly()
  const first = editor.complete(ASKED, never)
  const leaving = new AbortController()
  const second = editor.complete(ASKED, leaving.signal)
  await until('the first begins', () => release.length === 1)
  leaving.abort(new Error('left'))
  await assert.rejects(second, /left/)
  release[0]()
  await first
  const third = editor.complete(ASKED, never)
  await until('the third begins', () => release.length === 2)
  release[1]()
  await third
  assert.equal(calls.length, 2)
})

test('a call that was given up frees its place, even where the model never ends', async () => {
  const { editor, release } = slowly()
  await assert.rejects(editor.complete({ ...ASKED, timeout_s: 0.02 }, never), error => error.data.code === 'editor_timeout')
  const next = editor.complete(ASKED, never)
  await until('the next begins', () => release.length === 2)
  release[1]()
  assert.equal((await next).text, 'answer 2')
})

test('answers that were given are not kept', async () => {
  v8.setFlagsFromString('--expose-gc')
  const collect = vm.runInNewContext('gc')
  const held = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const megabyte = () => Buffer.alloc(1e6, 'x').toString()
  const chunks = async function* () { yield { type: 'text-delta', text: megabyte() } }
  const { editor, calls } = asking({ selection: ROUTE, chunks })
  const before = held()
  for (let i = 0; i < 60; i++) {
    await editor.complete(ASKED, never)
    calls.length = 0
  }
  const more = held() - before
  assert.ok(more < 20e6, `${Math.round(more / 1e6)} MB`)
})
