import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finishSeconds } from '../../bridge/config.js'
import { Finish } from '../../bridge/finish.js'
import { FakeSession } from './support/host.mjs'
import { sidecarOf } from './support/sidecar.mjs'

/** An agent that went idle, and what holds its host open. */
async function idle(t, { fault = 'none', seconds = 20, header, running = false, flushed = true } = {}) {
  const { sidecar } = sidecarOf(t, fault)
  sidecar.start()
  await sidecar.settled(new AbortController().signal)
  const asked = []
  const request = sidecar.request.bind(sidecar)
  sidecar.request = (method, params, options) => {
    asked.push([method, params])
    return request(method, params, options)
  }
  const listeners = new Set()
  const ctx = { on: (_name, listener) => (listeners.add(listener), () => listeners.delete(listener)) }
  const cancel = new AbortController()
  let held = 0
  const agent = {
    session: new FakeSession('s', header),
    runMaintenance: job => {
      held += 1
      return job(cancel.signal)
    },
  }
  const log = { flush: async () => flushed }
  const finish = new Finish(sidecar, log, { anyRunning: () => running }, seconds)
  const rounds = () => asked.filter(([method]) => method === 'round/finish')
  return { go: () => finish.idle(ctx, agent), rounds, held: () => held, listeners, cancel, agent }
}

test('a headless run is held for one round, begun before anything awaits', async t => {
  const { go, rounds, held, listeners } = await idle(t)
  const over = go()
  assert.equal(held(), 1)
  await over
  assert.deepEqual(rounds(), [['round/finish', { session: 's', timeout_s: 20 }]])
  assert.equal(listeners.size, 0)
})

for (const [what, host] of [
  ['that is set to hold for no time', { seconds: 0 }],
  ["whose agent is a subagent's", { header: { origin: 'subagent', parentSession: 'p' } }],
  ['with a child at work', { running: true }],
]) {
  test(`a host ${what} is not held`, async t => {
    const { go, held, rounds } = await idle(t, host)
    await go()
    assert.equal(held(), 0)
    assert.deepEqual(rounds(), [])
  })
}

test('no round is run when the sidecar does not have the whole log', async t => {
  const { go, rounds } = await idle(t, { flushed: false })
  await go()
  assert.deepEqual(rounds(), [])
})

test('a sidecar that hangs in the round holds the host for little more than a second', async t => {
  const { go } = await idle(t, { fault: 'hangs-in-round' })
  const begun = performance.now()
  await assert.rejects(go(), /stopped answering/)
  assert.ok(performance.now() - begun < 3000)
})

test('a message that arrives meanwhile is not kept waiting', async t => {
  const { go, listeners, agent } = await idle(t, { fault: 'hangs-in-round' })
  const over = go()
  for (const listener of listeners) listener({ agent })
  await over
})

test("a message to another agent doesn't end the wait", async t => {
  const { go, listeners, rounds } = await idle(t)
  const over = go()
  for (const listener of listeners) listener({ agent: { session: new FakeSession('other') } })
  await over
  assert.equal(rounds().length, 1)
})

test('a host that is cancelled is let go', async t => {
  const { go, cancel } = await idle(t, { fault: 'hangs-in-round' })
  const over = go()
  cancel.abort(new Error('disposed'))
  await over
})

test('only the headless program is held', () => {
  assert.equal(finishSeconds({}, 'headless'), 20)
  assert.equal(finishSeconds({ finish_s: 5 }, 'headless'), 5)
  for (const profile of ['web', 'sdk', undefined]) assert.equal(finishSeconds({ finish_s: 5 }, profile), 0)
})
