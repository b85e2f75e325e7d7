/** The bridge's sidecar over a real process of the tests' own program. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '../../../bridge/process.js'
import { Sidecar } from '../../../bridge/sidecar.js'
import { SidecarLog } from '../../../bridge/sidecar-log.js'
import { folder, quick } from './child.mjs'

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))

/** @returns a sidecar that isn't started yet, its data folder, and what it told */
export function sidecarOf(t, fault = 'none', limits = {}, data = undefined) {
  const cwd = data ?? path.join(folder(), 'data')
  mkdirSync(cwd, { recursive: true })
  const seen = { phases: [], faults: [], ready: [] }
  const report = (place, error) => seen.faults.push([place, error])
  const sidecar = new Sidecar(
    {
      initialize: { protocol: 1, host: { name: 'test', version: '0' }, data_dir: cwd },
      process: {
        runtime: () => ({ interpreter: process.execPath, args: [PROGRAM, fault], version: '0' }),
        cwd,
        env: childEnvironment(process.env, cwd),
        log: new SidecarLog(path.join(cwd, 'sidecar.log'), report),
      },
      onPhase: (phase, reason) => seen.phases.push([phase, reason]),
      report,
    },
    // A busy machine may take its time to start a program; a test that is about the waiting sets its own.
    { firstWord: 10_000, start: 20_000, hung: 30_000, ...quick(limits) },
  )
  sidecar.onReady = result => seen.ready.push(result)
  // Nothing of the bridge's keeps a program alive; a test must stay for the answer.
  const stay = setInterval(() => {}, 1000)
  t.after(async () => {
    await sidecar.dispose()
    clearInterval(stay)
  })
  return { sidecar, seen, data: cwd }
}
