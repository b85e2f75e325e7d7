import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { findRuntime, NoRuntime } from '../../bridge/runtime.js'
import { Status } from '../../bridge/status.js'
import { sessionStem } from '../../bridge/stem.js'
import { folder } from './support/child.mjs'
import { until } from './support/until.mjs'

for (const [session, stem] of [
  ['session-85ffdc30-5814-4c6f-a872-1fe499fef9bb', 'session-85ffdc30-5814-4c6f-a872-1fe499fe-65d5e6bc2ed3b4bd'],
  ['a-b', 'a-b-d44362d67d921091'],
  ['a/b', 'a-b-c14cddc033f64b9d'],
  ['检查', 'session-978e275133d14c1c'],
  ['Ünïcode İD', 'n-code-i-d-2d298b7e3fafe055'],
  ['--a--b--', 'a-b-8a45dde2806543af'],
  [`${'a'.repeat(39)}-b`, `${'a'.repeat(39)}-e14f2e13e242500d`],
]) {
  test(`the files of session ${JSON.stringify(session)} have the name that the sidecar gives them`, () => {
    assert.equal(sessionStem(session), stem)
  })
}

const GOOD = { interpreter: '/usr/bin/python3', args: ['-P', '-m', 'foldstate.sidecar'], version: '0.1.0' }

test('the runtime is what the installation wrote, also behind a byte order mark', () => {
  const data = folder()
  writeFileSync(path.join(data, 'runtime.json'), `\uFEFF${JSON.stringify(GOOD)}`)
  assert.deepEqual(findRuntime(data), GOOD)
})

for (const [what, content] of [
  ['missing', null],
  ['no JSON', '{'],
  ['without an interpreter', JSON.stringify({ ...GOOD, interpreter: undefined })],
  ['with an interpreter that PATH would have to find', JSON.stringify({ ...GOOD, interpreter: 'python' })],
  ['with args that are no list of texts', JSON.stringify({ ...GOOD, args: [1] })],
  ['null', 'null'],
]) {
  test(`a runtime file that is ${what} is a reason that says how to mend it`, () => {
    const data = folder()
    if (content !== null) writeFileSync(path.join(data, 'runtime.json'), content)
    assert.throws(() => findRuntime(data), error => error instanceof NoRuntime && /runtime\.json.*foldstate install/.test(error.message))
  })
}

const fileOf = (data, pid = process.pid) => path.join(data, 'status', `${pid}.json`)
test('a runtime file that cannot be read at the moment is worth another try', () => {
  const data = folder()
  mkdirSync(path.join(data, 'runtime.json'))
  assert.throws(() => findRuntime(data), error => !(error instanceof NoRuntime) && /runtime\.json can't be read: EISDIR/.test(error.message))
})

const read = data => JSON.parse(readFileSync(fileOf(data), 'utf8'))
const written = (data, what, holds) => until(what, () => existsSync(fileOf(data)) && holds(read(data)))

/** The id of a process that is gone. */
const gone = () => spawnSync(process.execPath, ['-e', '']).pid

/** What a process of this id left behind. */
function left(data, pid, status) {
  mkdirSync(path.join(data, 'status'), { recursive: true })
  const whole = { pid, at: new Date().toISOString(), sidecar: 'off', reason: null, errors: {}, ...status }
  writeFileSync(fileOf(data, pid), JSON.stringify(whole))
  return fileOf(data, pid)
}

test('the status file tells the phase, its reason and how often each place failed', async () => {
  const data = folder()
  const warned = []
  const status = new Status(data, { warn: text => warned.push(text) })
  for (let i = 0; i < 5; i++) status.report('session/event', new Error(`fault ${i}`))
  status.phase('failed', 'no interpreter')
  assert.equal(existsSync(fileOf(data)), false, 'the host does not wait for the disk')
  await written(data, 'it is written', () => true)
  const { pid, at, ...rest } = read(data)
  assert.equal(pid, process.pid)
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
  assert.deepEqual(rest, {
    sidecar: 'failed',
    reason: 'no interpreter',
    errors: { 'session/event': { count: 5, last: 'fault 4' } },
  })
  assert.equal(warned.filter(text => text.includes('fault')).length, 3, 'one place is logged three times, then only counted')
})

test('what changes while the file is written is in the next writing', async () => {
  const data = folder()
  const status = new Status(data, undefined)
  status.phase('starting', null)
  status.phase('running', null)
  status.phase('failed', 'gone')
  await written(data, 'the last is written', ({ reason }) => reason === 'gone')
})

test("a trouble that was there to the host's end stays readable, errors too", async () => {
  const data = folder()
  const status = new Status(data, undefined)
  status.phase('failed', 'no interpreter')
  await status.ended()
  assert.equal(read(data).reason, 'no interpreter')
  status.phase('running', null)
  status.report('surface file', new Error('damaged'))
  await status.ended()
  assert.deepEqual([read(data).sidecar, read(data).reason, read(data).errors['surface file'].count], ['off', null, 1])
})

test('a good run leaves no status', async () => {
  const data = folder()
  const status = new Status(data, undefined)
  status.phase('starting', null)
  await written(data, 'it is written', () => true)
  status.phase('running', null)
  await status.ended()
  assert.deepEqual(readdirSync(path.join(data, 'status')), [])
})

test("a good run says nothing over another host's trouble", async () => {
  const data = folder()
  const theirs = left(data, process.ppid, { sidecar: 'failed', reason: 'no interpreter' })
  const status = new Status(data, undefined)
  status.phase('running', null)
  await status.ended()
  assert.equal(JSON.parse(readFileSync(theirs, 'utf8')).reason, 'no interpreter')
})

test('at a start the files of processes that are gone go, but for the newest that tells of a trouble', async () => {
  const data = folder()
  const harmless = left(data, gone(), {})
  const older = left(data, gone(), { reason: 'old', at: '2026-01-01T00:00:00.000Z' })
  const newest = left(data, gone(), { errors: { log: { count: 1, last: 'no' } } })
  const half = left(data, gone(), {})
  writeFileSync(half, '{')
  const draft = `${left(data, gone(), {})}.tmp`
  writeFileSync(draft, '{')
  const living = left(data, process.ppid, {})
  new Status(data, undefined)
  await until('they go', () => [harmless, older, half, draft].every(file => !existsSync(file)))
  assert.deepEqual([existsSync(newest), existsSync(living)], [true, true])
})

test('once a sidecar runs, what an earlier process met is over', async () => {
  const data = folder()
  const earlier = left(data, gone(), { reason: 'given up' })
  const status = new Status(data, undefined)
  status.phase('starting', null)
  await written(data, 'it is written', () => true)
  assert.equal(existsSync(earlier), true)
  status.phase('running', null)
  await until('it goes', () => !existsSync(earlier))
})

test('a status that cannot be written is only warned of', async () => {
  const data = folder()
  writeFileSync(path.join(data, 'status'), 'a file where the folder should be')
  const warned = []
  new Status(data, { warn: text => warned.push(text) }).phase('running', null)
  await until('it is said', () => warned.some(text => /\.json can't be written/.test(text)))
})
