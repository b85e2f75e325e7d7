import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { NoRuntime } from '../../bridge/runtime.js'
import { SidecarLog } from '../../bridge/sidecar-log.js'
import { folder, supervised } from './support/child.mjs'
import { alive, until } from './support/until.mjs'

const ENDS_WITH_STDIN = "process.stdin.on('end', () => process.exit(0)).resume(); console.log('up')"
const IGNORES_EVERYTHING = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')"

/** @returns how long `work` took, in milliseconds */
async function timed(work) {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

test('a child that ends with its stdin is let end by itself', async t => {
  const { child, seen } = supervised(t, "process.stdin.on('end', () => { console.log('farewell'); process.exit(0) }).resume()", {
    limits: { farewell: 20_000 },
  })
  child.start()
  await child.dispose(false)
  assert.equal(alive(seen.pids[0]), false)
  assert.equal(seen.output.trim(), 'farewell')
})

test('a child that ignores the end of its stdin is killed after the farewell', async t => {
  const { child, seen } = supervised(t, IGNORES_EVERYTHING, { limits: { farewell: 150 } })
  child.start()
  await until('it is up', () => seen.output)
  const took = await timed(() => child.dispose(false))
  assert.ok(took >= 145 && took < 1500, `${took} ms`)
  assert.equal(alive(seen.pids[0]), false)
})

test('a child that is known to be hung is not waited for', async t => {
  const { child, seen } = supervised(t, IGNORES_EVERYTHING, { limits: { farewell: 60_000 } })
  child.start()
  await until('it is up', () => seen.output)
  assert.ok((await timed(() => child.dispose(true))) < 1500)
  assert.equal(alive(seen.pids[0]), false)
})

test('a child that does not read a full stdin is ended all the same', async t => {
  const { child, seen } = supervised(t, IGNORES_EVERYTHING, { limits: { farewell: 100 } })
  child.start()
  await until('it is up', () => seen.output)
  seen.stdin.write(Buffer.alloc(4 * 1024 * 1024))
  assert.ok(seen.stdin.writableLength > 0)
  await child.dispose(false)
  assert.equal(alive(seen.pids[0]), false)
})

test('a grandchild that keeps the pipes open is not waited for', async t => {
  const keeper = "require('child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 3000)'], { stdio: 'inherit' }).unref()"
  const { child, seen } = supervised(t, `${keeper}; ${ENDS_WITH_STDIN}`)
  child.start()
  await until('it is up', () => seen.output)
  assert.ok((await timed(() => child.dispose(false))) < 1500)
  assert.equal(alive(seen.pids[0]), false)
})

test('after dispose nothing is started again', async t => {
  const { child, seen } = supervised(t, ENDS_WITH_STDIN)
  child.start()
  await child.dispose(false)
  child.start()
  child.nudge()
  assert.equal(seen.pids.length, 1)
})

test('a child that ends is started again after pauses that grow, with its reason told', async t => {
  const { child, seen } = supervised(t, "console.error('no such table'); process.exit(3)", { limits: { failures: 4 } })
  child.start()
  await until('it is started a third time', () => seen.pids.length === 3)
  const reasons = seen.phases.filter(([phase]) => phase === 'failed').map(([, reason]) => reason)
  assert.equal(reasons[0], 'the sidecar ended with code 3: no such table; tried again in 0.02 s')
  assert.equal(reasons[1], 'the sidecar ended with code 3: no such table; tried again in 0.04 s')
})

test('a child that keeps failing is given up, and a later wish for it tries again', async t => {
  const { child, seen } = supervised(t, 'process.exit(1)', { limits: { failures: 3, rest: 100 } })
  child.start()
  await until('it is given up', () => seen.phases.at(-1)?.[1]?.startsWith('given up after 3 failures'))
  child.nudge()
  assert.equal(seen.pids.length, 3, 'too early a wish starts nothing')
  await until('a later wish starts it', () => {
    child.nudge()
    return seen.pids.length > 3
  })
})

test('an interpreter that is not there is a reason, and no exception', async t => {
  const runtime = () => ({ interpreter: '/no/such/python', args: [], version: '0' })
  const { child, seen } = supervised(t, '', { runtime, limits: { failures: 1 } })
  child.start()
  await until('the reason is told', () => seen.phases.at(-1)?.[0] === 'failed')
  assert.match(seen.phases.at(-1)[1], /\/no\/such\/python can't be run: .*ENOENT/)
})

test('without a runtime nothing is started, until there is one', async t => {
  let there = false
  const runtime = () => {
    if (!there) throw new NoRuntime('run `foldstate install`')
    return { interpreter: process.execPath, args: ['-e', ENDS_WITH_STDIN], version: '0' }
  }
  const { child, seen } = supervised(t, '', { runtime })
  child.start()
  assert.deepEqual(seen.phases.at(-1), ['off', 'run `foldstate install`'])
  there = true
  child.nudge()
  assert.equal(seen.pids.length, 1)
})

test('a process killed on our account says why', async t => {
  const { child, seen } = supervised(t, IGNORES_EVERYTHING, { limits: { failures: 1 } })
  child.start()
  child.kill('the sidecar hung')
  await until('it ends', () => seen.ends.length)
  assert.deepEqual(seen.ends, ['the sidecar hung'])
})

test('the child gets the essentials of the environment, and no credentials', async t => {
  const { child, seen, cwd } = supervised(t, 'console.log(JSON.stringify(process.env)); process.stdin.resume()')
  child.start()
  const env = await until('it tells', () => seen.output.includes('\n') && JSON.parse(seen.output))
  assert.equal(env.DSH_HOME, cwd)
  assert.equal(env.PYTHONUTF8, '1')
  assert.equal(env.PYTHONUNBUFFERED, '1')
  assert.equal(env.PATH, process.env.PATH)
  assert.equal(Object.values(env).includes('secret'), false)
})

test('the log file of stderr is bounded, with one predecessor, and its last line is at hand', t => {
  const file = path.join(folder(t), 'sidecar.log')
  const log = new SidecarLog(file, (_place, error) => assert.fail(error))
  for (let i = 0; i < 60; i++) log.write(Buffer.from(`${'x'.repeat(50_000)}\nline ${i}\n`))
  assert.ok(statSync(file).size <= 1024 * 1024)
  assert.ok(statSync(`${file}.1`).size <= 1024 * 1024)
  assert.ok(readFileSync(file, 'utf8').endsWith('line 59\n'))
  assert.equal(log.lastLine, 'line 59')
})

for (const [how, end] of [['ends by itself', 'process.exit(0)'], ['is killed', "process.kill(process.pid, 'SIGKILL')"]]) {
  test(`a host that ${how} while the child starts leaves no child`, async t => {
    const bridge = fileURLToPath(new URL('../../bridge/', import.meta.url))
    const host = `
      import { SidecarProcess } from ${JSON.stringify(`${bridge}process.js`)}
      const log = { write() {}, lastLine: '' }
      const runtime = () => ({ interpreter: process.execPath, args: ['-e', ${JSON.stringify(ENDS_WITH_STDIN)}], version: '0' })
      const onStart = ({ pid }) => { process.stdout.write(String(pid), () => { ${end} }) }
      new SidecarProcess({ runtime, cwd: '/', env: {}, log, onStart, onEnd() {}, onPhase() {} }).start()`
    const running = spawn(process.execPath, ['--input-type=module', '-e', host], { stdio: ['ignore', 'pipe', 'inherit'] })
    let pid = ''
    running.stdout.on('data', chunk => { pid += chunk })
    await once(running, 'close')
    assert.match(pid, /^\d+$/)
    t.after(() => { if (alive(Number(pid))) process.kill(Number(pid), 'SIGKILL') })
    await until('the child is gone', () => !alive(Number(pid)))
  })
}
