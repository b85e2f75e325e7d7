/**
 * Foldstate's bridge: a thin adapter between the agent host and the sidecar. It forwards the host's logs, puts the
 * state before the agent, lends the editor the host's model, and keeps every fault of its own from the host. It has no
 * rules, and never looks into the state.
 * @import { Context, Session } from './host.js'
 * @import { InitializeParams } from './frames.js'
 * @import { Settings } from './config.js'
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { Config, editorRoute, finishSeconds, hostVersion, wireConfig } from './config.js'
import { Editor } from './editor.js'
import { Finish } from './finish.js'
import { makeGuard, messageOf } from './guard.js'
import { LogForwarder } from './log.js'
import { childEnvironment } from './process.js'
import { findRuntime } from './runtime.js'
import { SidecarLog } from './sidecar-log.js'
import { Sidecar } from './sidecar.js'
import { Status } from './status.js'
import { Subagents } from './subagents.js'
import { Surface } from './surface.js'
import { Tools } from './tools.js'

export { Config }
export const name = 'dsh-foldstate'
export const inject = { agents: true, sessions: true }

/** This plugin's own. @type {string} */
const VERSION = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')).version

/**
 * Never throws: a plugin that does may abort the host's start.
 * @param {Context} ctx
 * @param {Settings} [settings]
 */
export function apply(ctx, settings = {}) {
  try {
    wire(ctx, settings)
  } catch (error) {
    process.emitWarning(`foldstate is off: ${messageOf(error)}`)
  }
}

/** @param {Context} ctx @param {Settings} settings */
function wire(ctx, settings) {
  const profile = ctx.get('profileContext')
  const home = profile?.home ?? process.env['DSH_HOME'] ?? path.join(homedir(), '.dsh')
  const dataDir = path.join(home, 'foldstate')
  mkdirSync(path.join(dataDir, 'sessions'), { recursive: true, mode: 0o700 })
  const status = new Status(dataDir, ctx.get('logger'))
  /** @type {(place: string, error: unknown) => void} */
  const report = (place, error) => status.report(place, error)
  const guard = makeGuard(report)
  /** @type {InitializeParams} */
  const initialize = {
    protocol: 1,
    host: { name: profile === undefined ? 'dsh' : `dsh ${profile.name}`, version: hostVersion, home },
    data_dir: dataDir,
    config: wireConfig(settings),
  }
  const sidecarLog = new SidecarLog(path.join(dataDir, 'sidecar.log'), report)
  let compared = false
  const runtime = () => {
    const found = findRuntime(dataDir)
    if (found.version !== VERSION && !compared) {
      report('version', `the plugin is ${VERSION}, the sidecar ${found.version}: run \`foldstate install\` again`)
    }
    compared = true
    return found
  }
  const sidecar = new Sidecar({
    initialize,
    process: { runtime, cwd: dataDir, env: childEnvironment(process.env, home), log: sidecarLog },
    onPhase: (phase, reason) => status.phase(phase, reason),
    report,
  })
  const log = new LogForwarder(sidecar, report)
  const surface = new Surface(ctx, dataDir, report)
  const subagents = new Subagents(sidecar, report)
  const tools = new Tools(sidecar, log)
  const editor = new Editor(ctx, editorRoute(settings))
  const finish = new Finish(sidecar, log, subagents, finishSeconds(settings, profile?.name))

  // Registered before anything is started, so that nothing is left behind even when the host ends during its own start.
  ctx.effect(() => async () => {
    // Whatever one of them meets, the next is reached: a sidecar that isn't ended would outlive the host.
    guard('last call', () => log.lastCall())()
    await guard('dispose', () => sidecar.dispose())()
    sidecarLog.ended()
    await status.ended()
  })

  sidecar.onReady = ({ wants, warnings }) => {
    for (const warning of warnings) report('initialize', warning)
    surface.connected()
    log.connected(wants)
  }
  sidecar.serve('editor/complete', (params, signal) => editor.complete(params, signal))
  sidecar.listen('surface/changed', params => surface.changed(params))
  log.onOpened = ({ id }) => subagents.opened(id)

  /** @param {Session} session */
  const add = session => {
    subagents.add(session)
    surface.add(session)
    log.add(session)
    sidecar.nudge()
  }
  ctx.on('session/created', guard('session/created', add))
  ctx.on('session/disposed', guard('session/disposed', session => {
    log.remove(session)
    surface.remove(session)
    subagents.remove(session)
  }))
  // Nothing is appended to a log from in here: the host refuses it.
  ctx.on('session/event', guard('session/event', (session, event) => {
    subagents.grew(session, event)
    surface.grew(session, event)
    log.grew(session, event)
  }))
  ctx.on('subagent/start', guard('subagent/start', edge => subagents.started(edge)))
  ctx.on('subagent/end', guard('subagent/end', edge => subagents.ended(edge)))
  ctx.on('agent/created', guard('agent/created', ({ agent }) => tools.give(agent)))
  ctx.on('agent/status', guard('agent/status', ({ agent, status: now }) => {
    if (now === 'idle') return finish.idle(ctx, agent)
    // A turn begins: a sidecar that was given up, or installed meanwhile, is wanted.
    sidecar.nudge()
    return undefined
  }))
  const enter = guard('agent/pre-step', surface.enter.bind(surface))
  ctx.on('agent/pre-step', async (step, next) => {
    const decision = await next()
    return (await enter(step, decision)) ?? decision
  })

  sidecar.start()
  for (const session of ctx.get('sessions')?.list() ?? []) guard('session/created', add)(session)
  for (const agent of ctx.get('agents')?.list() ?? []) guard('agent/created', tools.give.bind(tools))(agent)
}
