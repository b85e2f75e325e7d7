import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { apply } from '../../bridge/index.js'
import { makeGuard } from '../../bridge/guard.js'
import { folder } from './support/child.mjs'
import { FakeSession, said } from './support/host.mjs'
import { until } from './support/until.mjs'

const PROGRAM = fileURLToPath(new URL('support/program.mjs', import.meta.url))
const VERSION = JSON.parse(readFileSync(new URL('../../bridge/package.json', import.meta.url), 'utf8')).version

/** A host's context, and the listeners that the plugin put on it. */
function context(t) {
  const home = folder()
  const data = path.join(home, 'foldstate')
  const listeners = []
  const disposers = []
  const services = {
    profileContext: { name: 'web', home },
    sessions: { list: () => [], get: () => undefined },
    agents: { list: () => [], get: () => undefined },
  }
  const ctx = {
    get: name => services[name],
    on: (name, listener) => {
      const one = { name, listener }
      listeners.push(one)
      return () => listeners.splice(listeners.indexOf(one), 1)
    },
    effect: setup => disposers.push(setup()),
  }
  const dispose = async () => {
    for (const one of disposers.splice(0)) await one()
  }
  // Nothing of the bridge's keeps a program alive; a test must stay for what it waits for.
  const stay = setInterval(() => {}, 1000)
  t.after(async () => {
    await dispose()
    clearInterval(stay)
  })
  /** Tells all that listen, as the host does; what the last of them gives. */
  const emit = (name, ...args) =>
    listeners.filter(one => one.name === name).map(({ listener }) => listener(...args)).at(-1)
  /** Puts the tests' own program in the sidecar's place. */
  const install = (fault = 'none', version = VERSION) => {
    mkdirSync(data, { recursive: true })
    const runtime = { interpreter: process.execPath, args: [PROGRAM, fault], version }
    writeFileSync(path.join(data, 'runtime.json'), JSON.stringify(runtime))
  }
  const status = () => JSON.parse(readFileSync(path.join(data, 'status', `${process.pid}.json`), 'utf8'))
  const told = holds => () => existsSync(path.join(data, 'status', `${process.pid}.json`)) && holds(status()) && status()
  /** What the sidecar was asked, by method. */
  const asked = method => {
    const journal = path.join(data, 'journal.jsonl')
    if (!existsSync(journal)) return []
    // The last line may be half written.
    const lines = readFileSync(journal, 'utf8').split('\n').slice(0, -1).map(line => JSON.parse(line))
    return lines.filter(line => line.method === method).map(({ params }) => params)
  }
  /** The host's loop before a step: the texts of the messages that it begins with. */
  const step = async (session, text = 'hello') => {
    const messages = [said(text)]
    const decision = await emit('agent/pre-step', { agent: { session }, messages, turn: 1, step: 1 }, async () => ({ kind: 'enter', messages }))
    for (const message of decision.messages) session.append('user/message', message)
    return decision.messages.map(({ content }) => content[0].text)
  }
  return { ctx, listeners, data, status, told, services, dispose, emit, install, asked, step }
}

test('a plugin that cannot start at all throws nothing into the host', t => {
  const warned = t.mock.method(process, 'emitWarning', () => {})
  apply({ get: () => { throw new Error('no services') } })
  const home = folder()
  writeFileSync(path.join(home, 'foldstate'), 'a file where the folder should be')
  apply({ get: name => (name === 'profileContext' ? { name: 'web', home } : undefined) })
  assert.equal(warned.mock.callCount(), 2)
  assert.match(warned.mock.calls[0].arguments[0], /foldstate is off: no services/)
})

test('without an installed sidecar the plugin stands, and the status says why', async t => {
  const { ctx, told } = context(t)
  apply(ctx)
  const { sidecar, reason } = await until('it is said', told(({ reason }) => reason !== null))
  assert.equal(sidecar, 'off')
  assert.match(reason, /runtime\.json isn't there/)
})

test('what fails in a listener is counted, and the host goes on', async t => {
  const { ctx, emit, told } = context(t)
  apply(ctx)
  assert.equal(emit('session/event', undefined, undefined), undefined)
  assert.equal(await emit('agent/created', {}), undefined)
  const decision = { kind: 'enter', messages: [] }
  assert.equal(await emit('agent/pre-step', {}, async () => decision), decision)
  await assert.rejects(emit('agent/pre-step', {}, async () => { throw new Error("another plugin's") }), /another plugin's/)
  emit('session/event', undefined, undefined)
  emit('session/disposed', undefined)
  const { errors } = await until('the faults are written', told(({ errors }) => errors['session/disposed']))
  assert.equal(errors['session/event'].count, 2)
  assert.equal(errors['agent/created'].count, 1)
  assert.equal(errors['agent/pre-step'].count, 1)
})

test("the state of the last time stands before a process's first turn, with no sidecar at all", async t => {
  const { ctx, emit, data, step } = context(t)
  mkdirSync(path.join(data, 'sessions'), { recursive: true })
  const file = path.join(data, 'sessions', 's-043a718774c572bd.surface.json')
  writeFileSync(file, JSON.stringify({ session: 's', revision: 1, text: 'state 1', tokens: 1 }))
  apply(ctx)
  const session = new FakeSession('s')
  emit('session/created', session)
  assert.deepEqual(await step(session), ['hello', 'state 1'])
})

test('a session that lives is told to the sidecar, grows there, and is closed when it goes', async t => {
  const { ctx, emit, install, asked } = context(t)
  install()
  apply(ctx)
  const session = new FakeSession('s')
  emit('session/created', session)
  emit('session/event', session, session.append('turn/end', { turn: 1 }))
  await until('the entry is sent', () => asked('session/events').length)
  assert.deepEqual(asked('session/open').map(({ session: id }) => id), ['s'])
  assert.deepEqual(asked('session/events')[0].events.map(({ type }) => type), ['turn/end'])
  emit('session/disposed', session)
  await until('it is closed', () => asked('session/close').length)
})

test('sessions and agents that were there before the plugin are taken up', async t => {
  const { ctx, install, asked, services } = context(t)
  const session = new FakeSession('s')
  const tools = []
  const agent = { session, ctx: { get: () => ({ register: ({ name }) => tools.push(name) }) } }
  services.sessions.list = () => [session]
  services.agents.list = () => [agent]
  install()
  apply(ctx)
  assert.deepEqual(tools, ['fold_read', 'fold_evidence'])
  await until('it is opened', () => asked('session/open').length)
})

test('the text that the sidecar tells stands before the turn, also that of a new sidecar that began anew', async t => {
  const { ctx, emit, data, install, step, told } = context(t)
  install('dies')
  apply(ctx)
  const session = new FakeSession('s')
  emit('session/created', session)
  await until('it is told', async () => (await step(session)).at(-1) === 'state 9')
  const agent = { session, ctx: { get: () => ({ register: tool => { agent.tools = { ...agent.tools, [tool.name]: tool } } }) } }
  emit('agent/created', { agent })
  await agent.tools.fold_read.execute({ id: 'F-1' }, { agent, callId: 'c', signal: new AbortController().signal })
  const { reason } = await until('it ended', told(({ sidecar }) => sidecar === 'failed'))
  assert.match(reason, /ended with code 7: no such table: items/)
  await until('the next one is told', async () => (await step(session)).at(-1) === 'state 1')
  assert.ok(existsSync(path.join(data, 'sidecar.log')))
})

test("a subagent's facts that came before the sidecar are told once its root is opened", async t => {
  const { ctx, emit, install, asked } = context(t)
  install('slow')
  apply(ctx)
  emit('session/created', new FakeSession('root'))
  emit('session/created', new FakeSession('child', { origin: 'subagent', parentSession: 'root' }))
  emit('subagent/start', { id: 'child', runId: '1' })
  emit('subagent/end', { id: 'child', runId: '1', stopReason: 'completed' })
  await until('both are told', () => asked('subagent/settled').length)
  assert.deepEqual(asked('subagent/started').map(({ session, child }) => [session, child]), [['root', 'child']])
})

test('with its root goes what was known of a child', async t => {
  const { ctx, emit, told } = context(t)
  apply(ctx)
  const root = new FakeSession('root')
  emit('session/created', root)
  emit('session/created', new FakeSession('child', { origin: 'subagent', parentSession: 'root' }))
  emit('session/disposed', root)
  await new Promise(resolve => setImmediate(resolve))
  emit('subagent/start', { id: 'child', runId: '1' })
  const { errors } = await until('it is reported', told(({ errors }) => errors.subagents))
  assert.match(errors.subagents.last, /the parent of child isn't known/)
})

test('a sidecar that is installed while the host runs is started when a turn begins', async t => {
  const { ctx, emit, install, told } = context(t)
  apply(ctx)
  const session = new FakeSession('s')
  emit('session/created', session)
  await until('there is none', told(({ sidecar }) => sidecar === 'off'))
  install()
  emit('agent/status', { agent: { session }, status: 'running' })
  await until('it runs', told(({ sidecar }) => sidecar === 'running'))
})

test('a sidecar of another version is started, and the difference is said once', async t => {
  const { ctx, emit, install, told } = context(t)
  install('dies', '0.0.1')
  apply(ctx)
  await until('it runs', told(({ sidecar }) => sidecar === 'running'))
  const agent = { session: new FakeSession('s'), ctx: { get: () => ({ register: tool => { agent.tool ??= tool } }) } }
  emit('agent/created', { agent })
  await agent.tool.execute({ id: 'F-1' }, { agent, callId: 'c', signal: new AbortController().signal })
  await until('it ended', told(({ sidecar }) => sidecar === 'failed'))
  const { errors } = await until('it runs again', told(({ sidecar }) => sidecar === 'running'))
  assert.equal(errors.version.count, 1)
  assert.equal(errors.version.last, `the plugin is ${VERSION}, the sidecar 0.0.1: run \`foldstate install\` again`)
})

test("at the host's end the last entry is sent, and nothing is left that says a word", async t => {
  const { ctx, emit, install, asked, dispose, data } = context(t)
  install()
  apply(ctx)
  const session = new FakeSession('s')
  emit('session/created', session)
  emit('session/event', session, session.append('turn/end', { turn: 1 }))
  await until('the first is sent', () => asked('session/events').length === 1)
  emit('session/event', session, session.append('turn/end', { turn: 2 }))
  await dispose()
  assert.deepEqual(asked('session/events').map(({ events }) => events.map(({ data: { turn } }) => turn)), [[1], [2]])
  assert.deepEqual(readdirSync(path.join(data, 'status')), [])
})

test('a log that cannot be read at the end keeps neither the sidecar nor the host', async t => {
  const { ctx, emit, install, asked, dispose, data } = context(t)
  install()
  apply(ctx)
  const session = new FakeSession('s')
  emit('session/created', session)
  emit('session/event', session, session.append('turn/end', { turn: 1 }))
  await until('the first is sent', () => asked('session/events').length === 1)
  session.append('turn/end', { turn: 2 })
  Object.defineProperty(session, 'seq', { get: () => { throw new Error('the session is closed') } })
  await dispose()
  const said = JSON.parse(readFileSync(path.join(data, 'status', `${process.pid}.json`), 'utf8'))
  assert.equal(said.sidecar, 'off')
  assert.equal(said.errors['last call'].last, 'the session is closed')
})

test('a guarded function gives what it gives, and nothing where it fails', async () => {
  const told = []
  const guard = makeGuard((place, error) => told.push([place, error.message]))
  assert.equal(guard('here', (a, b) => a + b)(1, 2), 3)
  assert.equal(await guard('here', async a => a)(4), 4)
  assert.equal(guard('there', () => { throw new Error('now') })(), undefined)
  assert.equal(await guard('there', async () => { throw new Error('later') })(), undefined)
  assert.deepEqual(told, [['there', 'now'], ['there', 'later']])
})
