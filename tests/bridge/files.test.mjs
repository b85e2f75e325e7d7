import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { findRuntime, NoRuntime } from '../../bridge/runtime.js'
import { Status } from '../../bridge/status.js'
import { sessionStem } from '../../bridge/stem.js'
import { folder } from './support/child.mjs'

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

const GOOD = { interpreter: '/usr/bin/python3', args: ['-m', 'foldstate.sidecar'], version: '0.1.0' }

test('the runtime is what the installation wrote, also behind a byte order mark', t => {
  const data = folder(t)
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
  test(`a runtime file that is ${what} is a reason that says how to mend it`, t => {
    const data = folder(t)
    if (content !== null) writeFileSync(path.join(data, 'runtime.json'), content)
    assert.throws(() => findRuntime(data), error => error instanceof NoRuntime && /runtime\.json.*foldstate install/.test(error.message))
  })
}

const read = data => JSON.parse(readFileSync(path.join(data, 'bridge-status.json'), 'utf8'))

test('the status file tells the phase, its reason and how often each place failed', t => {
  const data = folder(t)
  const warned = []
  const status = new Status(data, { warn: text => warned.push(text) })
  for (let i = 0; i < 5; i++) status.report('session/event', new Error(`fault ${i}`))
  status.phase('failed', 'no interpreter')
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

test("a trouble that was there to the host's end stays readable, and a good run ends as off", t => {
  const data = folder(t)
  const status = new Status(data, undefined)
  status.phase('failed', 'no interpreter')
  status.ended()
  assert.equal(read(data).reason, 'no interpreter')
  status.phase('running', null)
  status.ended()
  assert.deepEqual([read(data).sidecar, read(data).reason], ['off', null])
})

test('a status that cannot be written is only warned of', t => {
  const data = folder(t)
  mkdirSync(path.join(data, 'bridge-status.json'))
  const warned = []
  new Status(data, { warn: text => warned.push(text) }).phase('running', null)
  assert.match(warned[0], /bridge-status\.json can't be written/)
})
