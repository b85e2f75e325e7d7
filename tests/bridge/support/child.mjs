/** A sidecar process around a small program of the test's own, and what the bridge was told about it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { childEnvironment, LIMITS, SidecarProcess } from '../../../bridge/process.js'
import { SidecarLog } from '../../../bridge/sidecar-log.js'
import { alive } from './until.mjs'

const folders = []
process.once('exit', () => {
  for (const made of folders) rmSync(made, { recursive: true, force: true })
})

/** A folder of this test's own. It goes when all tests have ended: whatever is still under way may write into it. */
export function folder() {
  const made = mkdtempSync(path.join(tmpdir(), 'foldstate-bridge-'))
  folders.push(made)
  return made
}

/** Pauses short enough for a test, every other limit as in the product unless said otherwise. */
export const quick = limits => ({ ...LIMITS, firstPause: 20, longestPause: 80, ...limits })

/** @returns the supervised process; `seen` grows with what it tells */
export function supervised(t, program, { limits = {}, runtime } = {}) {
  const cwd = folder()
  const seen = { pids: [], ends: [], phases: [], faults: [], output: '', stdin: null }
  const started = runtime ?? (() => ({ interpreter: process.execPath, args: ['-e', program], version: '0' }))
  const child = new SidecarProcess(
    {
      runtime: started,
      cwd,
      env: childEnvironment({ ...process.env, DEEPSEEK_API_KEY: 'secret', MY_TOKEN: 'secret' }, cwd),
      log: new SidecarLog(path.join(cwd, 'sidecar.log'), (place, error) => seen.faults.push([place, error])),
      onStart: ({ pid, stdin, stdout }) => {
        seen.pids.push(pid)
        seen.stdin = stdin
        stdout.on('data', chunk => { seen.output += chunk })
      },
      onEnd: reason => seen.ends.push(reason),
      onPhase: (phase, reason) => seen.phases.push([phase, reason]),
    },
    quick(limits),
  )
  t.after(async () => {
    await child.dispose(true)
    for (const pid of seen.pids) if (pid !== undefined && alive(pid)) process.kill(pid, 'SIGKILL')
  })
  return { child, seen, cwd }
}
