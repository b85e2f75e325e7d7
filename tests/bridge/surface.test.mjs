import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { SOURCE_KIND, Surface } from '../../bridge/surface.js'
import { sessionStem } from '../../bridge/stem.js'
import { folder } from './support/child.mjs'
import { FakeSession, said } from './support/host.mjs'
import { until } from './support/until.mjs'

const RESULT = { message: { role: 'tool', content: [{ type: 'text', text: 'result' }] } }

const THREE = JSON.stringify({ session: 's', revision: 3, text: 'state 3', tokens: 2 })

/** A surface over a session, and turns that go as the host's loop does: pre-step, then the step's messages enter. */
function before({ header, inherited, meter = true, content = null } = {}) {
  const data = folder()
  mkdirSync(path.join(data, 'sessions'))
  const file = path.join(data, 'sessions', `${sessionStem('s')}.surface.json`)
  if (content !== null) writeFileSync(file, content)
  const faults = []
  const tokenMeter = { estimateMessage: message => message.content[0].text.length }
  const host = { meter }
  const ctx = { get: name => (name === 'tokenMeter' && host.meter ? tokenMeter : undefined) }
  const surface = new Surface(ctx, data, (place, error) => faults.push([place, error]))
  const session = new FakeSession('s', header, inherited)
  surface.add(session)
  const step = async (number, messages, of = session) => {
    const decision = { kind: 'enter', messages }
    const entered = await surface.enter({ agent: { session: of }, step: number, turn: 1, messages }, decision)
    for (const message of entered.messages) of.append('user/message', message, { surfaceOp: 'append' })
    return entered.messages.length - messages.length
  }
  const tells = (text, revision, id = 's') => surface.changed({ session: id, text, tokens: 1, revision })
  return { surface, session, step, tells, file, faults, host }
}

test('the text that the sidecar told stands before the next turn', async () => {
  const { session, step, tells } = before()
  tells('state 1', 1)
  assert.equal(await step(1, [said('hello')]), 1)
  assert.deepEqual(session.texts, ['hello', 'state 1'])
  const block = session.log.at(-1).data
  assert.deepEqual(block.source, { kind: SOURCE_KIND, role: 'state' })
  assert.match(block.id, /^[0-9a-f-]{36}$/)
})

test('an unchanged text is not said again, and a changed one is, at a turn\'s first step', async () => {
  const { session, step, tells } = before()
  tells('state 1', 1)
  await step(1, [said('one')])
  assert.equal(await step(1, [said('two')]), 0)
  tells('state 2', 2)
  session.append('tool/result', RESULT)
  assert.equal(await step(2, []), 0, 'not in the middle of a turn')
  assert.equal(await step(1, [said('three')]), 1)
  assert.deepEqual(session.texts, ['one', 'state 1', 'two', 'result', 'three', 'state 2'])
})

test('where no block stands, it comes at any step that follows a tool result', async () => {
  const { session, step, tells } = before()
  await step(1, [said('one')])
  tells('state 1', 1)
  session.append('tool/result', RESULT)
  assert.equal(await step(2, []), 1)
})

test('a step that would not be made without us is left alone', async () => {
  const { session, step, tells } = before()
  tells('state 1', 1)
  session.append('assistant/message', { message: { content: [{ type: 'text', text: 'done' }] } })
  assert.equal(await step(2, []), 0)
  assert.equal(await step(1, []), 0)
})

test('a decision that is not to enter passes as it came', async () => {
  const { surface, session, tells } = before()
  tells('state 1', 1)
  const decision = { kind: 'reject', reason: 'no' }
  assert.equal(await surface.enter({ agent: { session }, step: 1, turn: 1, messages: [] }, decision), decision)
})

test("the first turn of a process has its text from the session's file", async () => {
  const { session, step } = before({ content: THREE })
  assert.equal(await step(1, [said('hello')]), 1)
  assert.deepEqual(session.texts, ['hello', 'state 3'])
})

test('what the sidecar told counts more than the file', async () => {
  const { session, step, tells } = before({ content: THREE })
  tells('state 4', 4)
  await step(1, [said('hello')])
  assert.deepEqual(session.texts, ['hello', 'state 4'])
})

for (const [what, content] of [
  ['damaged', '{"session": "s", "te'],
  ["another session's", JSON.stringify({ session: 'other', revision: 1, text: 'theirs', tokens: 1 })],
]) {
  test(`a file that is ${what} is told of and not used`, async () => {
    const { step, faults } = before({ content })
    assert.equal(await step(1, [said('hello')]), 0)
    assert.equal(faults[0][0], 'surface file')
  })
}

test('a host that is busy between the beginning of a session and its first step loses no text', async () => {
  const { session, step } = before({ content: THREE })
  const end = performance.now() + 300
  while (performance.now() < end) {
    // The host's own start: nothing else is served meanwhile.
  }
  assert.equal(await step(1, [said('hello')]), 1)
  assert.deepEqual(session.texts, ['hello', 'state 3'])
})

test('a file that could not be read is read again at the next step', async () => {
  const { session, step, file, faults } = before({ content: '{' })
  assert.equal(await step(1, [said('one')]), 0)
  assert.ok(faults.length > 0)
  writeFileSync(file, THREE)
  assert.equal(await step(1, [said('two')]), 1)
  assert.deepEqual(session.texts, ['one', 'two', 'state 3'])
})

/** Writes a text into a pipe, if somebody reads there now. */
function answer(pipe) {
  let end
  try {
    end = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch (error) {
    assert.equal(error.code, 'ENXIO')
    return
  }
  writeFileSync(end, THREE)
  closeSync(end)
}

test('a file that does not answer holds up a step for a quarter of a second, and is used once it does', async () => {
  const { surface, session, step, file, faults } = before()
  surface.remove(session)
  execFileSync('mkfifo', [file])
  surface.add(session)
  const begun = performance.now()
  assert.equal(await step(1, [said('one')]), 0)
  const took = performance.now() - begun
  assert.ok(took > 200 && took < 1500, `${took} ms`)
  assert.match(faults[0][1].message, /longer than 250 ms/)
  await until('it answers, and is used', async () => {
    answer(file)
    return (await step(1, [said('again')])) === 1
  })
  assert.equal(session.texts.at(-1), 'state 3')
})

test('a text that comes after its session went is not kept for its next life', async () => {
  const { surface, session, step, tells } = before({ content: THREE })
  surface.remove(session)
  tells('late', 9)
  surface.add(session)
  await step(1, [said('hello')])
  assert.deepEqual(session.texts, ['hello', 'state 3'])
})

test('a text of the same revision replaces the one before: its notes may differ', async () => {
  const { session, step, tells } = before()
  tells('state 1', 1)
  tells('state 1, and a note', 1)
  await step(1, [said('one')])
  assert.deepEqual(session.texts, ['one', 'state 1, and a note'])
})

test('nothing is cleared while the meter is not ready, and all of it once it is', async () => {
  const { surface, session, step, tells, host } = before()
  tells('state 1', 1)
  await step(1, [said('one')])
  tells('state 2', 2)
  await step(1, [said('two')])
  host.meter = false
  const checkpoint = session.append('user/message', said('summary', { kind: 'compact-checkpoint' }), {
    surfaceOp: { op: 'replace', startSeq: 0, endSeq: 0 },
    sourceEventSeqs: [0],
  })
  surface.grew(session, checkpoint)
  await step(1, [said('three')])
  assert.deepEqual(session.texts, ['summary', 'state 1', 'two', 'state 2', 'three'])
  host.meter = true
  await step(1, [said('four')])
  assert.deepEqual(session.texts, ['summary', 'two', 'state 2', 'three', 'four'])
  const claims = session.log.filter(({ type }) => type === 'compaction/prune').length
  assert.equal(claims, 1)
})

test('a session without a file has no block, and that is no fault', async () => {
  const { step, faults } = before()
  assert.equal(await step(1, [said('hello')]), 0)
  assert.deepEqual(faults, [])
})

test('an older text that comes late does not replace a newer one, but a new sidecar may begin anew', async () => {
  const { surface, session, step, tells } = before()
  tells('state 5', 5)
  tells('state 4', 4)
  await step(1, [said('one')])
  surface.connected()
  tells('state 1', 1)
  await step(1, [said('two')])
  assert.deepEqual(session.texts, ['one', 'state 5', 'two', 'state 1'])
})

test('an empty text appends nothing, and clears what stood', async () => {
  const { session, step, tells } = before()
  tells('', 0)
  assert.equal(await step(1, [said('one')]), 0)
  tells('a note', 0)
  await step(1, [said('two')])
  tells('', 0)
  assert.equal(await step(1, [said('three')]), 0)
  assert.deepEqual(session.texts, ['one', 'two', 'three'])
})

test('a compaction that took the block brings it back once', async () => {
  const { surface, session, step, tells } = before()
  tells('state 1', 1)
  await step(1, [said('one')])
  const checkpoint = session.append('user/message', said('summary', { kind: 'compact-checkpoint' }), {
    surfaceOp: { op: 'replace', startSeq: 0, endSeq: 1 },
    sourceEventSeqs: [0, 1],
  })
  surface.grew(session, checkpoint)
  session.append('tool/result', RESULT)
  assert.equal(await step(2, []), 1)
  session.append('tool/result', RESULT)
  assert.equal(await step(3, []), 0)
  assert.deepEqual(session.texts, ['summary', 'result', 'state 1', 'result'])
})

test('a compaction that left some blocks leaves the newest alone', async () => {
  const { surface, session, step, tells } = before()
  for (const revision of [1, 2, 3]) {
    tells(`state ${revision}`, revision)
    await step(1, [said(`turn ${revision}`)])
  }
  const checkpoint = session.append('user/message', said('summary', { kind: 'compact-checkpoint' }), {
    surfaceOp: { op: 'replace', startSeq: 0, endSeq: 1 },
    sourceEventSeqs: [0, 1],
  })
  surface.grew(session, checkpoint)
  assert.equal(await step(1, [said('turn 4')]), 0)
  assert.deepEqual(session.texts, ['summary', 'turn 2', 'turn 3', 'state 3', 'turn 4'])
})

test('no more than eight blocks ever stand', async () => {
  const { session, step, tells } = before()
  const standing = []
  for (let revision = 1; revision <= 20; revision++) {
    tells(`state ${revision}`, revision)
    await step(1, [said('turn')])
    standing.push(session.texts.filter(text => text.startsWith('state')).length)
    assert.equal(session.texts.at(-1), `state ${revision}`)
  }
  assert.equal(Math.max(...standing), 8)
})

test('each cleared block has its claim right before it, with what the meter says', async () => {
  const { session, step, tells } = before()
  tells('four', 1)
  await step(1, [said('one')])
  tells('', 1)
  await step(1, [said('two')])
  const [claim, cleared] = session.log.slice(2, 4)
  assert.equal(claim.type, 'compaction/prune')
  assert.deepEqual(claim.data, { shadowedRange: { start: 1, end: 1 }, shadowedSeqs: [1], shadowedTokenCount: 4 })
  assert.deepEqual(cleared.surfaceOp, { op: 'replace', startSeq: 1, endSeq: 1 })
  assert.deepEqual(cleared.data.content, [])
})

test("a fork's first step clears the parent's blocks, also where its own text isn't known", async () => {
  const { session, step, tells } = before({ header: { isSeeded: true, parentSession: 'p' }, inherited: 2 })
  session.append('user/message', said('of the parent'))
  session.append('user/message', said('parent state', { kind: SOURCE_KIND, role: 'state' }))
  assert.equal(await step(1, [said('fork')]), 0)
  assert.deepEqual(session.texts, ['of the parent', 'fork'])
  tells('own state', 1)
  await step(1, [said('again')])
  assert.deepEqual(session.texts, ['of the parent', 'fork', 'again', 'own state'])
})

test("a subagent never has a block, not even one that it inherited", async () => {
  const header = { origin: 'subagent', isSeeded: true, parentSession: 'p' }
  const { surface, session, step, tells } = before({ header, inherited: 1 })
  session.append('user/message', said('parent state', { kind: SOURCE_KIND, role: 'state' }))
  tells('state 1', 1)
  surface.add(session)
  assert.equal(await step(1, [said('task')]), 0)
  assert.deepEqual(session.texts, ['task'])
})

test("one session's text never stands before another", async () => {
  const { surface, session, step, tells } = before()
  surface.add(new FakeSession('other'))
  tells('theirs', 1, 'other')
  assert.equal(await step(1, [said('hello')]), 0)
  assert.deepEqual(session.texts, ['hello'])
})
