import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { PATIENCE, SidecarDown } from '../../bridge/sidecar.js'
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
  const { sidecar } = sidecarOf(t, 'mute', { ...PATIENCE, farewell: 60_000 })
  sidecar.start()
  const { value, took } = await timed(() => sidecar.settled(never))
  assert.equal(value, false)
  assert.ok(took < 1500, `${took} ms`)
  assert.ok((await timed(() => sidecar.dispose())).took < 1500)
})

test('a start that takes too long after its first word is not waited for to its end', async t => {
  const { sidecar } = sidecarOf(t, 'deaf', { start: 700 })
  sidecar.start()
  const { value, took } = await timed(() => sidecar.settled(never))
  assert.equal(value, false)
  assert.ok(took > 500 && took < 1500, `${took} ms`)
})

for (const [what, fault, limits] of [
  ['took too long', 'deaf', { start: 300, firstWord: 10_000 }],
  ['was refused', 'refuses', { failures: 1 }],
]) {
  test(`after a start that ${what} the next host waits for none, until one succeeded`, async t => {
    const { sidecar, data } = sidecarOf(t, fault, limits)
    sidecar.start()
    await sidecar.settled(never)
    await until('it is noted', () => existsSync(path.join(data, 'start-failed')))
    await sidecar.dispose()

    const next = sidecarOf(t, 'slow', {}, data)
    next.sidecar.start()
    const { value, took } = await timed(() => next.sidecar.settled(never))
    assert.equal(value, false)
    assert.ok(took < 100, `${took} ms`)
    await until('it is ready', () => next.sidecar.ready)
    assert.equal(await next.sidecar.settled(never), true)
    await until('the note is gone', () => !existsSync(path.join(data, 'start-failed')))
    await next.sidecar.dispose()

    const last = sidecarOf(t, 'slow', {}, data)
    last.sidecar.start()
    assert.equal(await last.sidecar.settled(never), true)
  })
}

test('neither a start that its host ended nor an end after a good start is a failed start', async t => {
  const { sidecar, data } = sidecarOf(t, 'slow')
  sidecar.start()
  await sidecar.dispose()
  assert.equal(existsSync(path.join(data, 'start-failed')), false)

  const dying = sidecarOf(t, 'dies', { failures: 1 }, data)
  dying.sidecar.start()
  await dying.sidecar.settled(never)
  await assert.rejects(dying.sidecar.request('item/get', ITEM, soon))
  await until('it is given up', () => dying.seen.phases.at(-1)?.[0] === 'failed')
  await dying.sidecar.dispose()
  assert.equal(existsSync(path.join(data, 'start-failed')), false)
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

test('one that ends before the handshake says why', async t => {
  const { sidecar, seen } = sidecarOf(t, 'breaks', { drain: 20_000, failures: 1 })
  sidecar.start()
  await until('it is given up', () => seen.phases.at(-1)?.[0] === 'failed')
  assert.match(seen.phases.at(-1)[1], /the last: the sidecar ended with code 1: no module named foldstate$/)
})

test('when it dies, what is in flight fails at once and the next one is greeted', async t => {
  const { sidecar, seen } = sidecarOf(t, 'dies')
  sidecar.start()
  await sidecar.settled(never)
  await assert.rejects(sidecar.request('item/get', ITEM, { timeoutMs: 60_000 }))
  await until('the next one is ready', () => seen.ready.length === 2)
  assert.notEqual(seen.ready[0].server.version, seen.ready[1].server.version)
  const [, reason] = seen.phases.find(([phase]) => phase === 'failed')
  assert.equal(reason, 'the sidecar ended with code 7: no such table: items; tried again in 0.02 s')
})

test('one that closes its end and is still at work is let end by itself', async t => {
  const { sidecar, seen, data } = sidecarOf(t, 'leaves', { drain: 20_000, failures: 1 })
  sidecar.start()
  await sidecar.settled(never)
  await assert.rejects(sidecar.request('item/get', ITEM, soon))
  await until('it ends', () => seen.phases.at(-1)?.[0] === 'failed')
  assert.match(seen.phases.at(-1)[1], /the last: the sidecar ended with code 0$/)
  assert.equal(existsSync(path.join(data, 'committed')), true)
})

test('one that closes its end and stays is ended, and that is the reason', async t => {
  const { sidecar, seen } = sidecarOf(t, 'stays', { failures: 1 })
  sidecar.start()
  await sidecar.settled(never)
  await assert.rejects(sidecar.request('item/get', ITEM, soon))
  await until('it is ended', () => seen.phases.at(-1)?.[0] === 'failed')
  assert.match(seen.phases.at(-1)[1], /the last: the connection to the sidecar broke: the other side closed the connection$/)
  assert.equal(alive(Number(seen.ready[0].server.version)), false)
})

test('one that is silent with a request unanswered is taken for hung, ended and started again', async t => {
  const { sidecar, seen } = sidecarOf(t, 'hangs', { hung: 200 })
  sidecar.start()
  await sidecar.settled(never)
  sidecar.request('health/get', {}, { timeoutMs: 10 }).catch(() => {})
  await until('the next one is ready', () => seen.ready.length === 2)
  assert.equal(alive(Number(seen.ready[0].server.version)), false)
  assert.ok(seen.phases.some(([, reason]) => reason?.startsWith('the sidecar hung: it answered nothing')))
})

test('one that answers something is not hung, however old a request of it is', async t => {
  const { sidecar, seen } = sidecarOf(t, 'hangs', { hung: 200 })
  sidecar.start()
  await sidecar.settled(never)
  sidecar.request('health/get', {}, { timeoutMs: 10 }).catch(() => {})
  const end = performance.now() + 700
  await until('the time passes', async () => {
    await sidecar.request('item/get', ITEM, soon)
    return performance.now() > end
  })
  assert.equal(seen.ready.length, 1)
})

test('one whose frames cannot be read any more is ended and started again', async t => {
  const { sidecar, seen } = sidecarOf(t, 'garbles')
  sidecar.start()
  await sidecar.settled(never)
  await assert.rejects(sidecar.request('item/get', ITEM, { timeoutMs: 60_000 }))
  await until('the next one is ready', () => seen.ready.length === 2)
  assert.equal(alive(Number(seen.ready[0].server.version)), false)
})
