import assert from 'node:assert/strict'
import { writeFileSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { apply } from '../../bridge/index.js'
import { makeGuard } from '../../bridge/guard.js'
import { folder } from './support/child.mjs'
import { FakeSession, said } from './support/host.mjs'
import { until } from './support/until.mjs'

/** A host's context without any sidecar to start, and the listeners that the plugin put on it. */
function context(t) {
  const home = folder(t)
  const listeners = new Map()
  const disposers = []
  const services = {
    profileContext: { name: 'headless', home },
    sessions: { list: () => [], get: () => undefined },
    agents: { list: () => [], get: () => undefined },
  }
  const ctx = {
    get: name => services[name],
    on: (name, listener) => (listeners.set(name, listener), () => {}),
    effect: setup => disposers.push(setup()),
  }
  t.after(() => Promise.all(disposers.map(dispose => dispose())))
  const status = () => JSON.parse(readFileSync(path.join(home, 'foldstate', 'bridge-status.json'), 'utf8'))
  return { ctx, listeners, home, status, services }
}

test('a plugin that cannot start at all throws nothing into the host', t => {
  const warned = t.mock.method(process, 'emitWarning', () => {})
  apply({ get: () => { throw new Error('no services') } })
  const home = folder(t)
  writeFileSync(path.join(home, 'foldstate'), 'a file where the folder should be')
  apply({ get: name => (name === 'profileContext' ? { name: 'web', home } : undefined) })
  assert.equal(warned.mock.callCount(), 2)
  assert.match(warned.mock.calls[0].arguments[0], /foldstate is off: no services/)
})

test('without an installed sidecar the plugin stands, and the status says why', t => {
  const { ctx, status } = context(t)
  apply(ctx)
  assert.equal(status().sidecar, 'off')
  assert.match(status().reason, /runtime\.json isn't there/)
})

test('what fails in a listener is counted, and the host goes on', async t => {
  const { ctx, listeners, status } = context(t)
  apply(ctx)
  assert.equal(listeners.get('session/event')(undefined, undefined), undefined)
  assert.equal(await listeners.get('agent/created')({}), undefined)
  const decision = { kind: 'enter', messages: [] }
  assert.equal(await listeners.get('agent/pre-step')({}, async () => decision), decision)
  await assert.rejects(listeners.get('agent/pre-step')({}, async () => { throw new Error("another plugin's") }), /another plugin's/)
  listeners.get('session/event')(undefined, undefined)
  listeners.get('session/disposed')(undefined)
  const { errors } = await until('the faults are written', () => status().errors['session/disposed'] && status())
  assert.equal(errors['session/event'].count, 2)
  assert.equal(errors['agent/created'].count, 1)
  assert.equal(errors['agent/pre-step'].count, 1)
})

test("the state of the last time stands before a process's first turn, with no sidecar at all", async t => {
  const { ctx, listeners, home } = context(t)
  mkdirSync(path.join(home, 'foldstate', 'sessions'), { recursive: true })
  const file = path.join(home, 'foldstate', 'sessions', 's-043a718774c572bd.surface.json')
  writeFileSync(file, JSON.stringify({ session: 's', revision: 1, text: 'state 1', tokens: 1 }))
  apply(ctx)
  const session = new FakeSession('s')
  listeners.get('session/created')(session)
  const messages = [said('hello')]
  const entered = await listeners.get('agent/pre-step')(
    { agent: { session }, messages, turn: 1, step: 1 },
    async () => ({ kind: 'enter', messages }),
  )
  assert.equal(entered.messages[1].content[0].text, 'state 1')
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
