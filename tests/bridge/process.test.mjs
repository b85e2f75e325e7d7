import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { LIMITS } from '../../bridge/process.js'
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
  assert.equal(reasons[1], 'the sidecar ended with code 3: no such table; tried again in 0.08 s')
})

test('the pauses reach the longest before the child is given up', async t => {
  const { child, seen } = supervised(t, 'process.exit(1)', { limits: { firstPause: 10, longestPause: 50 } })
  child.start()
  await until('it is given up', () => seen.phases.at(-1)?.[1]?.startsWith('given up after 5 failures'))
  const pauses = seen.phases.flatMap(([, reason]) => /tried again in (.*) s$/.exec(reason ?? '')?.[1] ?? [])
  assert.deepEqual(pauses, ['0.01', '0.04', '0.05', '0.05'])
})

test("the product's own pauses reach the longest before a child is given up that fails at once", () => {
  const { firstPause, growth, longestPause, failures, window } = LIMITS
  const pauses = Array.from({ length: failures - 1 }, (_, n) => Math.min(firstPause * growth ** n, longestPause))
  assert.equal(pauses.at(-1), longestPause)
  assert.ok(pauses.reduce((sum, pause) => sum + pause) < window)
})

test('a child that lived for long is started again after the first pause', async t => {
  const lives = "setTimeout(() => process.exit(1), 100)"
  const { child, seen } = supervised(t, lives, { limits: { firstPause: 10, longestPause: 10_000, steady: 100 } })
  child.start()
  await until('it is started a fourth time', () => seen.pids.length === 4)
  const reasons = seen.phases.filter(([phase]) => phase === 'failed').map(([, reason]) => reason)
  for (const reason of reasons) assert.match(reason, /tried again in 0\.01 s$/)
})

test('what one process said last is not the reason of the next one', async t => {
  const { child, seen } = supervised(
    t,
    "const fs = require('fs'); if (fs.existsSync('again')) process.exit(4); fs.writeFileSync('again', ''); console.error('words'); process.exit(3)",
    { limits: { failures: 2 } },
  )
  child.start()
  await until('it ends a second time', () => seen.ends.length === 2)
  assert.deepEqual(seen.ends, ['the sidecar ended with code 3: words', 'the sidecar ended with code 4'])
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

test('on a machine without free descriptors a start fails, the host goes on, and the next one succeeds', async () => {
  const data = folder()
  const bridge = fileURLToPath(new URL('../../bridge/', import.meta.url))
  const host = `
    import fs from 'node:fs'
    import { LIMITS, SidecarProcess } from ${JSON.stringify(`${bridge}process.js`)}
    const log = { begin() {}, write() {}, lastLine: '' }
    const runtime = () => ({ interpreter: process.execPath, args: ['-e', 'process.stdin.resume()'], version: '0' })
    const phases = []
    const held = []
    const child = new SidecarProcess({
      runtime, cwd: '/', env: {}, log,
      onStart() {
        console.log(JSON.stringify(phases))
        child.dispose(true).then(() => process.exit(0))
      },
      onEnd() {},
      onPhase: (phase, reason) => {
        phases.push([phase, reason])
        if (phase === 'failed') setImmediate(() => { for (const fd of held.splice(0)) fs.closeSync(fd) })
      },
    }, { ...LIMITS, firstPause: 200 })
    console.log('warm')
    try { for (;;) held.push(fs.openSync('/dev/null', 'r')) } catch (error) { if (error.code !== 'EMFILE') throw error }
    for (const fd of held.splice(0, Number(process.argv[2]))) fs.closeSync(fd)
    child.start()
    setTimeout(() => process.exit(9), 10_000)`
  writeFileSync(path.join(data, 'host.mjs'), host)
  for (const free of [0, 3]) {
    const words = ['-c', 'ulimit -n 100; exec "$@"', 'sh', process.execPath, path.join(data, 'host.mjs'), String(free)]
    const running = spawn('/bin/sh', words, { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [running.stdout, running.stderr]) stream.on('data', chunk => { said += chunk })
    const [code] = await once(running, 'close')
    assert.equal(code, 0, said)
    const [starting, failed, again] = JSON.parse(said.trim().split('\n').at(-1))
    assert.deepEqual([starting, again], [['starting', null], ['starting', null]])
    assert.match(failed[1], /can't be run: .*(descriptor|EMFILE).*; tried again in 0\.2 s$/)
  }
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

test('the log file of stderr is bounded, with one predecessor, and its last line is at hand', async () => {
  const file = path.join(folder(), 'sidecar.log')
  const log = new SidecarLog(file, (_place, error) => assert.fail(error))
  for (let i = 0; i < 60; i++) {
    log.write(Buffer.from(`${'x'.repeat(50_000)}\nline ${i}\n`))
    await until('it is written', () => existsSync(file) && readFileSync(file, 'utf8').endsWith(`line ${i}\n`))
  }
  assert.ok(statSync(file).size <= 1024 * 1024)
  assert.ok(statSync(`${file}.1`).size <= 1024 * 1024)
  assert.ok(readFileSync(file, 'utf8').endsWith('line 59\n'))
  assert.equal(log.lastLine, 'line 59')
})

test('the log never holds up the host: what comes faster than the disk takes it loses its oldest part', async () => {
  const file = path.join(folder(), 'sidecar.log')
  const log = new SidecarLog(file, (_place, error) => assert.fail(error))
  for (let i = 0; i < 100; i++) log.write(Buffer.from(`${'x'.repeat(50_000)}\nline ${i}\n`))
  assert.equal(existsSync(file), false)
  await until('the newest is written', () => existsSync(file) && readFileSync(file, 'utf8').endsWith('line 99\n'))
  assert.ok(statSync(file).size <= 512 * 1024)
})

test("at the host's end what waits is written before it returns", () => {
  const file = path.join(folder(), 'sidecar.log')
  const log = new SidecarLog(file, (_place, error) => assert.fail(error))
  log.write(Buffer.from('last words\n'))
  log.ended()
  assert.equal(readFileSync(file, 'utf8'), 'last words\n')
})

test('two hosts that share a log move it by its real size', async () => {
  const file = path.join(folder(), 'sidecar.log')
  const [one, other] = [1, 2].map(() => new SidecarLog(file, (_place, error) => assert.fail(error)))
  for (let i = 0; i < 40; i++) {
    const log = i % 2 ? one : other
    log.write(Buffer.from(`${'x'.repeat(50_000)}\nline ${i}\n`))
    await until('it is written', () => existsSync(file) && readFileSync(file, 'utf8').endsWith(`line ${i}\n`))
    assert.ok(statSync(file).size <= 1024 * 1024)
  }
  const lines = [`${file}.1`, file].flatMap(part => readFileSync(part, 'utf8').match(/line \d+/g))
  assert.deepEqual(lines, Array.from({ length: lines.length }, (_, i) => `line ${40 - lines.length + i}`))
  assert.ok(lines.length > 20)
})

for (const [how, end, program] of [
  ['ends by itself', 'process.exit(0)', IGNORES_EVERYTHING],
  ['is killed', "process.kill(process.pid, 'SIGKILL')", ENDS_WITH_STDIN],
]) {
  test(`a host that ${how} while the child starts leaves no child`, async t => {
    const bridge = fileURLToPath(new URL('../../bridge/', import.meta.url))
    const host = `
      import { SidecarProcess } from ${JSON.stringify(`${bridge}process.js`)}
      const log = { begin() {}, write() {}, lastLine: '' }
      const runtime = () => ({ interpreter: process.execPath, args: ['-e', ${JSON.stringify(program)}], version: '0' })
      setTimeout(() => process.exit(9), 10_000)
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
