import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RpcError } from '../../bridge/rpc.js'
import { Subagents } from '../../bridge/subagents.js'
import { FakeSession, FakeSidecar } from './support/host.mjs'
import { until } from './support/until.mjs'

function watching() {
  const sidecar = new FakeSidecar()
  const faults = []
  const subagents = new Subagents(sidecar, (place, error) => faults.push(error.message))
  const child = (id, parentSession) => subagents.add(new FakeSession(id, { origin: 'subagent', parentSession }))
  const facts = () => sidecar.requests.map(({ method, params: { at, ...params } }) => {
    assert.ok(Date.parse(at))
    return [method, params]
  })
  return { sidecar, subagents, child, faults, facts }
}

test('a start and an end are facts of the root session, with the label that the parent gave', async () => {
  const { subagents, child, facts } = watching()
  child('c', 'root')
  subagents.started({ id: 'c', runId: 'r1' })
  subagents.grew(new FakeSession('root'), { type: 'subagent/catalog', data: { childId: 'c', label: 'finder', mode: 'continuable' } })
  assert.equal(subagents.anyRunning('root'), true)
  await until('the start is told', () => facts().length === 1)
  const lastAssistantMessage = [{ type: 'text', text: 'found ' }, { type: 'image' }, { type: 'text', text: '42' }]
  subagents.ended({ id: 'c', runId: 'r1', stopReason: 'completed', lastAssistantMessage })
  assert.equal(subagents.anyRunning('root'), false)
  await until('the end is told', () => facts().length === 2)
  const named = { session: 'root', child: 'c', run: 'r1', label: 'finder' }
  assert.deepEqual(facts(), [
    ['subagent/started', { ...named, mode: 'continuable' }],
    ['subagent/settled', { ...named, stop_reason: 'completed', closing: 'found 42' }],
  ])
})

test("a child's child is told of the session at the top", async () => {
  const { subagents, child, facts } = watching()
  child('c', 'root')
  child('cc', 'c')
  subagents.started({ id: 'cc' })
  await until('it is told', () => facts().length === 1)
  assert.deepEqual(facts(), [['subagent/started', { session: 'root', child: 'cc' }]])
  assert.equal(subagents.anyRunning('root'), true)
  assert.equal(subagents.anyRunning('other'), false)
})

test('a fork is the root of its own children', async () => {
  const { subagents, child, facts } = watching()
  subagents.add(new FakeSession('fork', { parentSession: 'root', isSeeded: true }))
  child('c', 'fork')
  subagents.started({ id: 'c' })
  await until('it is told', () => facts().length === 1)
  assert.equal(facts()[0][1].session, 'fork')
})

test('facts wait for a sidecar, in order', async () => {
  const { sidecar, subagents, child, facts } = watching()
  child('c', 'root')
  sidecar.ready = false
  subagents.started({ id: 'c', runId: 'r' })
  subagents.ended({ id: 'c', runId: 'r', stopReason: 'error' })
  await new Promise(resolve => setImmediate(resolve))
  sidecar.ready = true
  subagents.opened('root')
  await until('both are told', () => facts().length === 2)
  assert.deepEqual(facts().map(([method]) => method), ['subagent/started', 'subagent/settled'])
})

test('a fact that was in flight when the sidecar ended is told to the next', async () => {
  const { sidecar, subagents, child, facts } = watching()
  child('c', 'root')
  sidecar.answers['subagent/started'] = () => {
    sidecar.ready = false
    throw new Error('the connection broke')
  }
  subagents.started({ id: 'c' })
  await until('it is tried', () => facts().length === 1)
  sidecar.answers['subagent/started'] = { event: 'h:1' }
  sidecar.ready = true
  await until('it is told again', () => {
    subagents.opened('root')
    return facts().length === 2
  })
})

test('a fact that the sidecar refuses is reported and does not hold up the others', async () => {
  const { sidecar, subagents, child, faults, facts } = watching()
  child('c', 'root')
  sidecar.answers['subagent/started'] = () => { throw new RpcError(-32602, 'no such run', {}) }
  subagents.started({ id: 'c' })
  subagents.ended({ id: 'c' })
  await until('the second is told', () => facts().length === 2)
  assert.deepEqual(faults, ['no such run'])
})

test('a child whose parent is not known counts as running for everyone, and is reported', async () => {
  const { subagents, faults, facts } = watching()
  subagents.started({ id: 'stranger' })
  assert.equal(subagents.anyRunning('root'), true)
  await until('it is reported', () => faults.length)
  assert.deepEqual(facts(), [])
})

test('a circle of parents ends', () => {
  const { subagents, child } = watching()
  child('a', 'b')
  child('b', 'a')
  subagents.started({ id: 'a' })
  assert.equal(subagents.anyRunning('root'), true)
})

const notOpen = ({ session }) => { throw new RpcError(-32011, `session ${session} is not open`, { code: 'session_not_open' }) }

test("the facts of a closed parent hold up nobody else's, and are told when it is opened again", async () => {
  const { sidecar, subagents, child, faults, facts } = watching()
  child('a1', 'A')
  child('b1', 'B')
  let open = false
  sidecar.answers['subagent/settled'] = params => (params.session === 'A' && !open ? notOpen(params) : null)
  subagents.ended({ id: 'a1', runId: '1' })
  subagents.ended({ id: 'b1', runId: '1' })
  await until('both are tried', () => facts().length === 2)
  subagents.ended({ id: 'b1', runId: '2' })
  await until("the other's next is told", () => facts().length === 3)
  open = true
  subagents.opened('A')
  await until('it is told', () => facts().length === 4)
  assert.deepEqual(facts().map(([, { session, run }]) => [session, run]), [['A', '1'], ['B', '1'], ['B', '2'], ['A', '1']])
  subagents.opened('A')
  subagents.opened('B')
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(facts().length, 4, 'each is told once')
  assert.deepEqual(faults, [])
})

test('an opening that falls into a telling is not missed', async () => {
  const { sidecar, subagents, child, facts } = watching()
  child('c', 'root')
  let fail
  sidecar.answers['subagent/started'] = params => new Promise((_, reject) => { fail = () => { try { notOpen(params) } catch (error) { reject(error) } } })
  subagents.started({ id: 'c' })
  await until('it is tried', () => facts().length === 1)
  subagents.opened('root')
  sidecar.answers['subagent/started'] = null
  fail()
  await until('it is told', () => facts().length === 2)
})

test('a fact that comes while another is told, and pushes the oldest out, loses no other', async () => {
  const { sidecar, subagents, child, faults, facts } = watching()
  child('c', 'root')
  const release = []
  sidecar.answers['subagent/settled'] = () => new Promise(resolve => release.push(resolve))
  subagents.ended({ id: 'c', runId: '0' })
  await until('the first is under way', () => release.length === 1)
  for (let run = 1; run <= 500; run++) subagents.ended({ id: 'c', runId: String(run) })
  await until('one is dropped', () => faults.length === 1)
  sidecar.answers['subagent/settled'] = null
  release[0]()
  await until('all are told', () => facts().length === 501)
  assert.deepEqual(facts().map(([, { run }]) => run), Array.from({ length: 501 }, (_, run) => String(run)))
})

test('no more than 500 facts wait; the oldest go, and that is told', async () => {
  const { sidecar, subagents, child, faults, facts } = watching()
  child('c', 'root')
  sidecar.ready = false
  for (let run = 0; run < 510; run++) subagents.ended({ id: 'c', runId: String(run) })
  await until('ten are dropped', () => faults.length === 10)
  sidecar.ready = true
  subagents.opened('root')
  await until('the others are told', () => facts().length === 500)
  assert.deepEqual([facts()[0][1].run, facts().at(-1)[1].run], ['10', '509'])
})

test('what storage has no place for now is kept, and told', async () => {
  const { sidecar, subagents, child, faults, facts } = watching()
  child('c', 'root')
  sidecar.answers['subagent/started'] = () => { throw new RpcError(-32013, 'the disk is full', { code: 'storage_unavailable' }) }
  subagents.started({ id: 'c' })
  await until('it is reported', () => faults.length === 1)
  sidecar.answers['subagent/started'] = null
  subagents.opened('root')
  await until('it is told again', () => facts().length === 2)
})

test('with its root goes what was known of a child, once nothing of that root is at work', async () => {
  const { subagents, child, faults, facts } = watching()
  const root = new FakeSession('root')
  subagents.add(root)
  for (const id of ['c', 'd']) child(id, 'root')
  subagents.started({ id: 'c' })
  subagents.remove(root)
  subagents.ended({ id: 'c' })
  await until('both are told', () => facts().length === 2)
  // It is forgotten in an instant of its own, after the answer to its last fact.
  for (let tick = 0; tick < 50; tick++) await new Promise(resolve => setImmediate(resolve))
  subagents.started({ id: 'd' })
  await until('its parent is not known any more', () => faults.length === 1)
  child('d', 'root')
  subagents.add(root)
  subagents.started({ id: 'd' })
  await until('it is told', () => facts().length === 3)
})
