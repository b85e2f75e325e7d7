import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogForwarder, PACES } from '../../bridge/log.js'
import { RpcError } from '../../bridge/rpc.js'
import { FakeSession, FakeSidecar, said } from './support/host.mjs'
import { until } from './support/until.mjs'

const WANTS = ['user/message', 'assistant/message', 'turn/end']

/** A forwarder to a sidecar that keeps, for each session, the entries that it took and the cursor. */
function forwarding({ wants = WANTS, paces = PACES } = {}) {
  const sidecar = new FakeSidecar()
  const faults = []
  const taken = new Map()
  const store = session => {
    if (!taken.has(session)) taken.set(session, { cursor: -1, entries: [], skipped: {} })
    return taken.get(session)
  }
  sidecar.answers['session/open'] = ({ session, origin }) => {
    const cursor = origin === 'subagent' ? -1 : store(session).cursor
    return { session, revision: 0, cursor, resend_from: cursor + 1, read_only: false, degraded: [] }
  }
  sidecar.answers['session/events'] = ({ session, after, through, events, skipped = {} }) => {
    const kept = store(session)
    if (after > kept.cursor) throw new RpcError(-32010, 'gap', { code: 'cursor_gap', cursor: kept.cursor })
    kept.cursor = through
    kept.entries.push(...events)
    for (const [kind, count] of Object.entries(skipped)) kept.skipped[kind] = (kept.skipped[kind] ?? 0) + count
    return { cursor: through, ledger: [] }
  }
  const log = new LogForwarder(sidecar, (place, error) => faults.push([place, error]), paces)
  const connect = () => log.connected(wants)
  return { sidecar, log, faults, store, connect }
}

/** Appends to the log and tells the forwarder, as the host does. */
function append(log, session, type, data) {
  log.grew(session, session.append(type, data))
}

test('what lay in the log before the sidecar came is sent, wanted types whole and the others counted', async () => {
  const { log, store, connect } = forwarding()
  const session = new FakeSession('s')
  session.append('permission/preset', { preset: 'x' })
  session.append('user/message', said('hello'))
  session.append('step/start', {})
  session.append('step/start', {})
  log.add(session)
  connect()
  await until('all is taken', () => store('s').cursor === 3)
  assert.deepEqual(store('s').entries, [{ seq: 1, time: session.log[1].time, type: 'user/message', data: session.log[1].data }])
  assert.deepEqual(store('s').skipped, { 'permission/preset': 1, 'step/start': 2 })
})

test('the session is opened with its title, folder, parent and the head of its log', async () => {
  const { sidecar, log, connect } = forwarding()
  const session = new FakeSession('child', { origin: 'subagent', parentSession: 'root' })
  session.append('session/title', { title: '标题'.repeat(900) })
  log.add(session)
  connect()
  const [opened] = await until('it is opened', () => sidecar.of('session/open').length && sidecar.of('session/open'))
  assert.deepEqual(opened, {
    session: 'child',
    origin: 'subagent',
    title: '标题'.repeat(500),
    cwd: '/work',
    parent: 'root',
    head: { seq: 0, time: session.log[0].time },
  })
})

test("a subagent's log is not sent", async () => {
  const { sidecar, log, connect } = forwarding()
  const child = new FakeSession('child', { origin: 'subagent', parentSession: 'root' })
  child.append('user/message', said('task'))
  log.add(child)
  connect()
  await until('it is opened', () => sidecar.of('session/open').length)
  assert.equal(await log.flush(child), false)
  assert.deepEqual(sidecar.of('session/events'), [])
})

test('token streams and replay states are left out, and nothing else', async () => {
  const { log, store, connect } = forwarding()
  const session = new FakeSession('s')
  const source = { kind: 'model', provider: 'p', model: 'm' }
  const message = { role: 'assistant', id: '1', content: [{ type: 'text', text: 'hi' }] }
  const data = { turn: 1, message: { ...message, source: { ...source, replayState: { deep: 1 } } }, stream: [{ type: 'chunk' }] }
  session.append('assistant/message', data)
  session.append('turn/end', { turn: 1, reason: { kind: 'completed', stream: 'kept' } })
  log.add(session)
  connect()
  await until('all is taken', () => store('s').cursor === 1)
  assert.deepEqual(store('s').entries.map(entry => entry.data), [
    { turn: 1, message: { ...message, source } },
    { turn: 1, reason: { kind: 'completed', stream: 'kept' } },
  ])
  assert.ok(session.log[0].data.stream, "the host's own entry stays as it was")
})

test('live entries follow, batched', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('s')
  log.add(session)
  connect()
  await until('it is opened', () => sidecar.of('session/open').length)
  for (let i = 0; i < 50; i++) append(log, session, 'user/message', said(`word ${i}`))
  await until('all is taken', () => store('s').cursor === 49)
  assert.equal(store('s').entries.length, 50)
  assert.ok(sidecar.of('session/events').length <= 2)
})

test('entries that nobody wants move the cursor at most once a second', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('s')
  log.add(session)
  connect()
  append(log, session, 'user/message', said('first'))
  await until('the first is taken', () => store('s').cursor === 0)
  const begun = performance.now()
  append(log, session, 'step/start', {})
  await until('the cursor moves', () => store('s').cursor === 1)
  assert.ok(performance.now() - begun > 800)
  assert.equal(sidecar.of('session/events').length, 2)
})

test('a long log goes in bounded batches, without a hole', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('s')
  for (let i = 0; i < 450; i++) session.append('user/message', said(i % 100 ? 'short' : 'x'.repeat(700_000)))
  log.add(session)
  connect()
  await until('all is taken', () => store('s').cursor === 449)
  assert.deepEqual(store('s').entries.map(entry => entry.seq), session.log.map(entry => entry.seq))
  for (const batch of sidecar.of('session/events')) {
    assert.ok(batch.events.length <= 200)
    assert.ok(Buffer.byteLength(JSON.stringify(batch)) < 2 * 1024 * 1024)
  }
})

test('an entry that fits no frame is counted and left out', async () => {
  const { log, store, connect } = forwarding()
  const session = new FakeSession('s')
  session.append('user/message', said('x'.repeat(7 * 1024 * 1024)))
  session.append('user/message', said('after'))
  log.add(session)
  connect()
  await until('all is taken', () => store('s').cursor === 1)
  assert.deepEqual(store('s').entries.map(entry => entry.seq), [1])
  assert.deepEqual(store('s').skipped, { oversize: 1 })
})

test('an entry that the sidecar refuses is found, counted and told, and does not hold up the others', async () => {
  const { sidecar, log, store, faults, connect } = forwarding()
  const take = sidecar.answers['session/events']
  sidecar.answers['session/events'] = params => {
    if (params.events.some(entry => entry.seq === 7)) throw new RpcError(-32602, 'events[7] is odd', { path: 'events' })
    return take(params)
  }
  const session = new FakeSession('s')
  for (let i = 0; i < 20; i++) session.append('user/message', said(`${i}`))
  log.add(session)
  connect()
  await until('all is taken', () => store('s').cursor === 19)
  assert.equal(store('s').entries.length, 19)
  assert.deepEqual(store('s').skipped, { refused: 1 })
  assert.equal(faults[0][0], 'session/events')
})

test("after a gap it goes on from the sidecar's cursor", async () => {
  const { log, store, connect } = forwarding()
  const session = new FakeSession('s')
  for (let i = 0; i < 6; i++) session.append('user/message', said(`${i}`))
  log.add(session)
  connect()
  await until('all is taken', () => store('s').cursor === 5)
  Object.assign(store('s'), { cursor: 2, entries: store('s').entries.slice(0, 3) })
  append(log, session, 'user/message', said('6'))
  await until('all is taken again', () => store('s').cursor === 6)
  assert.deepEqual(store('s').entries.map(entry => entry.seq), [0, 1, 2, 3, 4, 5, 6])
})

test("a new sidecar gets what it lacks out of the host's own log", async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('s')
  log.add(session)
  connect()
  append(log, session, 'user/message', said('before'))
  await until('the first is taken', () => store('s').cursor === 0)
  sidecar.ready = false
  for (let i = 0; i < 5; i++) append(log, session, 'user/message', said('meanwhile'))
  sidecar.ready = true
  connect()
  await until('the rest is taken', () => store('s').cursor === 5)
  assert.deepEqual(store('s').entries.map(entry => entry.seq), [0, 1, 2, 3, 4, 5])
})

test('where both sides agree on an earlier entry, all after it is sent again', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('s')
  for (let i = 0; i < 4; i++) session.append('user/message', said(`${i}`))
  sidecar.answers['session/open'] = ({ session: id, head }) => {
    assert.deepEqual(head, { seq: 3, time: session.log[3].time })
    store(id).cursor = 9
    return { session: id, revision: 4, cursor: 9, resend_from: 2, read_only: false, degraded: [] }
  }
  log.add(session)
  connect()
  await until('both are taken', () => store('s').entries.length === 2)
  assert.deepEqual(sidecar.of('session/events').map(({ after, through }) => [after, through]), [[1, 3]])
})

test('what a fork inherited is one skipped range, and its own entries follow', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('fork', { isSeeded: true, parentSession: 'parent' }, 3)
  for (let i = 0; i < 3; i++) session.append('user/message', said('of the parent'))
  session.append('session/end-seed', { inherited: true })
  session.append('user/message', said('of the fork'))
  log.add(session)
  connect()
  await until('all is taken', () => store('fork').cursor === 4)
  const [first] = sidecar.of('session/events')
  assert.deepEqual(first, { session: 'fork', after: -1, through: 2, events: [], skipped: { inherited: 3 } })
  assert.deepEqual(store('fork').entries.map(entry => entry.seq), [4])
  assert.equal(sidecar.of('session/open')[0].parent, 'parent')
})

test('a session that goes is sent to its end and closed', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('s')
  log.add(session)
  connect()
  await until('it is opened', () => sidecar.of('session/open').length)
  session.append('user/message', said('last words'))
  session.append('step/end', {})
  log.remove(session)
  await until('it is closed', () => sidecar.of('session/close').length)
  assert.equal(store('s').cursor, 1)
})

test('a session that another host has is left alone', async () => {
  const { sidecar, log, connect } = forwarding()
  const complaint = { code: 'read_only', message: 'another host has it' }
  sidecar.answers['session/open'] = { session: 's', revision: 0, cursor: -1, resend_from: 0, read_only: true, degraded: [complaint] }
  const session = new FakeSession('s')
  session.append('user/message', said('hello'))
  log.add(session)
  connect()
  await until('it is opened', () => sidecar.of('session/open').length)
  assert.equal(await log.flush(session), false)
  assert.deepEqual(sidecar.of('session/events'), [])
})

test('a flush tells whether the sidecar has everything', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('s')
  log.add(session)
  connect()
  append(log, session, 'user/message', said('hello'))
  append(log, session, 'step/end', {})
  assert.equal(await log.flush(session), true)
  assert.equal(store('s').cursor, 1)
  append(log, session, 'step/end', {})
  assert.equal(await log.flush(session), true)
  assert.equal(store('s').cursor, 2)
  append(log, session, 'user/message', said('lost'))
  sidecar.ready = false
  assert.equal(await log.flush(session), false)
})

/** Appends an entry every few milliseconds for `ms`. */
async function busy(log, session, ms) {
  const end = performance.now() + ms
  await until('the time passes', () => {
    append(log, session, 'user/message', said('x'))
    return performance.now() > end
  })
}

/** Returns when a session that comes now was opened: what was appointed for an earlier instant has happened by then. */
async function later(sidecar, log) {
  log.add(new FakeSession('later'))
  await until('it is opened', () => sidecar.of('session/open').some(({ session }) => session === 'later'))
}

const READ_ONLY = { session: 's', revision: 0, cursor: -1, resend_from: 0, read_only: true, degraded: [] }

test('whatever comes, a session that another host has is asked for again only after its pause', async () => {
  const { sidecar, log, connect } = forwarding({ paces: { ...PACES, readOnly: 400 } })
  sidecar.answers['session/open'] = READ_ONLY
  const session = new FakeSession('s')
  log.add(session)
  connect()
  const begun = performance.now()
  await busy(log, session, 250)
  assert.equal(sidecar.of('session/open').length, 1)
  await until('it is asked again', () => sidecar.of('session/open').length === 2)
  assert.ok(performance.now() - begun >= 390)
})

test('whatever comes, a session that failed is tried again only after its pause, but by a new sidecar at once', async () => {
  const { sidecar, log, store, faults, connect } = forwarding({ paces: { ...PACES, retry: 60_000 } })
  const open = sidecar.answers['session/open']
  sidecar.answers['session/open'] = () => { throw new RpcError(-32013, 'full', { code: 'storage_unavailable' }) }
  const session = new FakeSession('s')
  log.add(session)
  connect()
  await busy(log, session, 200)
  assert.equal(sidecar.of('session/open').length, 1)
  assert.equal(faults.length, 1)
  sidecar.answers['session/open'] = open
  connect()
  await until('all is taken', () => store('s').cursor === session.seq - 1)
})

test('a session that went and cannot be sent is tried three times, and then let go', async () => {
  const { sidecar, log, faults, connect } = forwarding({ paces: { ...PACES, retry: 10 } })
  const session = new FakeSession('s')
  log.add(session)
  connect()
  await until('it is opened', () => sidecar.of('session/open').length)
  sidecar.answers['session/events'] = () => { throw new RpcError(-32013, 'full', { code: 'storage_unavailable' }) }
  session.append('user/message', said('last words'))
  log.remove(session)
  await until('it was tried three times', () => faults.length === 3)
  assert.equal(await log.flush(session), false, 'nothing of it is held')
  connect()
  await later(sidecar, log)
  assert.equal(sidecar.of('session/events').length, 3)
})

test('a session that went while there is no sidecar is let go', async () => {
  const { sidecar, log, connect } = forwarding()
  const session = new FakeSession('s')
  log.add(session)
  sidecar.ready = false
  log.remove(session)
  // Its timer was set first.
  await new Promise(resolve => setTimeout(resolve))
  sidecar.ready = true
  connect()
  await later(sidecar, log)
  assert.deepEqual(sidecar.requests.map(({ params }) => params.session), ['later'])
})

test("a subagent's session is closed only if it was opened", async () => {
  const { sidecar, log, connect } = forwarding()
  const [opened, never] = ['a', 'b'].map(id => new FakeSession(id, { origin: 'subagent', parentSession: 'root' }))
  log.add(opened)
  connect()
  await until('it is opened', () => sidecar.of('session/open').length === 1)
  log.add(never)
  log.remove(never)
  log.remove(opened)
  await until('it is closed', () => sidecar.of('session/close').length)
  await later(sidecar, log)
  assert.deepEqual(sidecar.of('session/close'), [{ session: 'a' }])
  assert.deepEqual(sidecar.of('session/open').map(({ session }) => session), ['a', 'later'])
})

test('a title that comes later is told by opening the session again', async () => {
  const { sidecar, log, connect } = forwarding()
  const session = new FakeSession('s')
  log.add(session)
  connect()
  await until('it is opened', () => sidecar.of('session/open').length === 1)
  append(log, session, 'session/title', { title: 'Later' })
  await until('it is opened again', () => sidecar.of('session/open').length === 2)
  assert.equal(sidecar.of('session/open')[1].title, 'Later')
})

test('a title that comes while the session is opened is not lost', async () => {
  const { sidecar, log, connect } = forwarding()
  const open = sidecar.answers['session/open']
  const session = new FakeSession('s')
  let first = true
  sidecar.answers['session/open'] = params => {
    if (first) append(log, session, 'session/title', { title: 'Meanwhile' })
    first = false
    return open(params)
  }
  log.add(session)
  connect()
  await until('it is opened again', () => sidecar.of('session/open').length === 2)
  assert.deepEqual(sidecar.of('session/open').map(({ title }) => title), [undefined, 'Meanwhile'])
})

test('a batch ends where the sidecar had got to before it goes beyond', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('s')
  for (let i = 0; i < 6; i++) session.append(i % 2 ? 'user/message' : 'step/start', said(`${i}`))
  sidecar.answers['session/open'] = ({ session: id }) => {
    store(id).cursor = 3
    return { session: id, revision: 1, cursor: 3, resend_from: 1, read_only: false, degraded: [] }
  }
  log.add(session)
  connect()
  await until('all is taken', () => store('s').cursor === 5)
  const batches = sidecar.of('session/events').map(({ after, through, skipped }) => [after, through, skipped])
  assert.deepEqual(batches, [[0, 3, { 'step/start': 1 }], [3, 5, { 'step/start': 1 }]])
})

test('what a fork inherited ends there too', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const session = new FakeSession('fork', { isSeeded: true, parentSession: 'parent' }, 4)
  for (let i = 0; i < 5; i++) session.append('user/message', said(`${i}`))
  sidecar.answers['session/open'] = ({ session: id }) => {
    store(id).cursor = 1
    return { session: id, revision: 1, cursor: 1, resend_from: 0, read_only: false, degraded: [] }
  }
  log.add(session)
  connect()
  await until('all is taken', () => store('fork').cursor === 4)
  const batches = sidecar.of('session/events').map(({ after, through, skipped }) => [after, through, skipped])
  assert.deepEqual(batches, [[-1, 1, { inherited: 2 }], [1, 3, { inherited: 2 }], [3, 4, undefined]])
})

test('the last call sends what has not been sent, at once', async () => {
  const { log, store, faults, connect } = forwarding()
  const [broken, session] = ['broken', 's'].map(id => new FakeSession(id))
  for (const one of [broken, session]) log.add(one)
  connect()
  for (const one of [broken, session]) append(log, one, 'user/message', said('first'))
  await until('both are taken', () => store('s').cursor === 0 && store('broken').cursor === 0)
  for (const one of [broken, session]) append(log, one, 'user/message', said('last words'))
  broken.eventAt = () => { throw new Error('the session is closed') }
  log.lastCall()
  assert.equal(store('s').cursor, 1, 'before anything awaits')
  assert.deepEqual(faults.map(([place, error]) => [place, error.message]), [['last call', 'the session is closed']])
})

test('the last call goes on after a batch that is under way', async () => {
  const { sidecar, log, store, connect } = forwarding()
  const take = sidecar.answers['session/events']
  const session = new FakeSession('s')
  log.add(session)
  connect()
  let release
  sidecar.answers['session/events'] = params => {
    take(params)
    return new Promise(resolve => { release = resolve })
  }
  append(log, session, 'user/message', said('under way'))
  await until('it is under way', () => release)
  append(log, session, 'user/message', said('last words'))
  log.lastCall()
  assert.deepEqual(store('s').entries.map(({ seq }) => seq), [0, 1])
})
