import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SidecarDown } from '../../bridge/sidecar.js'
import { sidecarOf } from './support/sidecar.mjs'
import { alive, until } from './support/until.mjs'

const soon = { timeoutMs: 5000 }
const ITEM = { session: 's', item: 'i' }
const never = new AbortController().signal

/** @returns what `work` gave, and how long it took in milliseconds */
async function timed(work) {
  const begun = performance.now()
  const value = await work()
  return { value, took: performance.now() - begun }
}

test('after the handshake requests are taken, and the phase is running', async t => {
  const { sidecar, seen } = sidecarOf(t)
  await assert.rejects(sidecar.request('item/get', ITEM, soon), SidecarDown)
  sidecar.start()
  assert.equal(await sidecar.settled(never), true)
  assert.deepEqual(seen.ready[0].wants, ['turn/end'])
  assert.deepEqual(await sidecar.request('item/get', ITEM, soon), { item: 1 })
  assert.deepEqual(seen.phases, [['starting', null], ['running', null]])
})

test('a start that gave a sign of life is waited for', async t => {
  const { sidecar } = sidecarOf(t, 'slow')
  sidecar.start()
  assert.equal(await sidecar.settled(never), true)
})

test('a process that says nothing is not waited for, nor is its end', async t => {
  const { sidecar } = sidecarOf(t, 'mute', { farewell: 60_000 })
  sidecar.start()
  const { value, took } = await timed(() => sidecar.settled(never))
  assert.equal(value, false)
  assert.ok(took < 1500, `${took} ms`)
  assert.ok((await timed(() => sidecar.dispose())).took < 1500)
})

test('where there is none, nobody waits', async t => {
  const { sidecar } = sidecarOf(t)
  assert.equal((await timed(() => sidecar.settled(never))).value, false)
})

test('a wait ends with its signal', async t => {
  const { sidecar } = sidecarOf(t, 'slow')
  sidecar.start()
  const leaving = new AbortController()
  const waiting = sidecar.settled(leaving.signal)
  leaving.abort()
  assert.equal(await waiting, false)
})

test('a sidecar that leaves a request unanswered is unwell, and nobody waits for its end', async t => {
  const { sidecar } = sidecarOf(t, 'hangs', { farewell: 60_000 })
  sidecar.start()
  assert.equal(await sidecar.settled(never), true)
  sidecar.request('health/get', {}, { timeoutMs: 10 }).catch(() => {})
  await until('it is unwell', () => sidecar.unwell)
  assert.equal(await sidecar.settled(never), false)
  assert.ok((await timed(() => sidecar.dispose())).took < 1500)
})

for (const [fault, reason] of [
  ['refuses', /refused the handshake/],
  ['future', /refused the handshake: it speaks protocol 2/],
]) {
  test(`a sidecar that ${fault === 'future' ? 'speaks another protocol' : 'refuses the handshake'} is ended, and it is said`, async t => {
    const { sidecar, seen } = sidecarOf(t, fault, { failures: 1 })
    sidecar.start()
    await until('it is given up', () => seen.phases.at(-1)?.[0] === 'failed')
    assert.match(seen.phases.at(-1)[1], reason)
    assert.equal(sidecar.ready, false)
  })
}

test('when it dies, what is in flight fails at once and the next one is greeted', async t => {
  const { sidecar, seen } = sidecarOf(t, 'dies')
  sidecar.start()
  await sidecar.settled(never)
  await assert.rejects(sidecar.request('item/get', ITEM, { timeoutMs: 60_000 }))
  await until('the next one is ready', () => seen.ready.length === 2)
  assert.notEqual(seen.ready[0].server.version, seen.ready[1].server.version)
  assert.ok(seen.phases.some(([phase, reason]) => phase === 'failed' && /tried again/.test(reason)))
})

test('one whose frames cannot be read any more is ended and started again', async t => {
  const { sidecar, seen } = sidecarOf(t, 'garbles')
  sidecar.start()
  await sidecar.settled(never)
  await assert.rejects(sidecar.request('item/get', ITEM, { timeoutMs: 60_000 }))
  await until('the next one is ready', () => seen.ready.length === 2)
  assert.equal(alive(Number(seen.ready[0].server.version)), false)
})
