// A plugin for tests alone: does inside a running host what a user could do from its screens, and reads a session's log
// through the host's own services. It listens on 127.0.0.1 and writes its port to the file that FOLDSTATE_DRIVER names.
import fs from 'node:fs'
import http from 'node:http'

export const name = 'foldstate-test-driver'
export const inject = ['agents', 'sessions', 'sessionQuery', 'commands']

const owned = (ctx, id) => {
  const agent = ctx.agents.get(id)
  if (agent === undefined) throw new Error(`no live agent in session ${id}`)
  return agent
}

const say = (agent, text) =>
  agent.followup({ role: 'user', id: crypto.randomUUID(), content: [{ type: 'text', text }], source: { kind: 'user' } })

const operations = {
  // what the session's log holds: of a live session from memory, of any other as the host reads it back
  async log(ctx, { session }) {
    const live = ctx.sessions.get(session)
    if (live !== undefined) return { header: live.header, events: live.snapshotEvents() }
    const seen = await ctx.sessionQuery.observeSession(session)
    try {
      return { header: seen.header, events: [...seen.events] }
    } finally {
      seen[Symbol.dispose]()
    }
  },

  async resume(ctx, { session }) {
    const { error } = await ctx.get('sessionController').resolveAgent(session)
    if (error !== undefined) throw error
    return {}
  },

  async command(ctx, { session, line }) {
    const done = await ctx.commands.execute(owned(ctx, session), line, [], new AbortController().signal)
    return done === undefined ? { unknown: line } : done.result
  },

  async begin(ctx, { session, text }) {
    say(owned(ctx, session), text)
    return {}
  },

  async prompt(ctx, { session, text }) {
    const agent = owned(ctx, session)
    say(agent, text)
    do await agent.whenIdle()
    while (await ctx.get('subagents').waitForChildren(agent))
    await ctx.sessions.flush(agent.session)
    const end = agent.session.snapshotEvents().findLast(event => event.type === 'turn/end')
    if (end?.data.reason.kind !== 'completed') throw new Error(`the turn failed: ${JSON.stringify(end?.data.reason)}`)
    return {}
  },

  async fork(ctx, { session }) {
    return { session: (await ctx.get('sessionController').fork({ sessionId: session })).sessionId }
  },
}

export function apply(ctx) {
  const server = http.createServer(async (request, response) => {
    let status = 200
    let answer
    try {
      const chunks = []
      for await (const chunk of request) chunks.push(chunk)
      answer = await operations[request.url.slice(1)](ctx, JSON.parse(Buffer.concat(chunks).toString()))
    } catch (error) {
      status = 500
      answer = { error: String(error?.stack ?? error) }
    }
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
    response.end(JSON.stringify(answer))
  })
  ctx.effect(() => () => server.close())
  const whole = async () => {
    await ctx.get('loader')?.await()
    server.listen(0, '127.0.0.1', () => {
      const file = process.env.FOLDSTATE_DRIVER
      fs.writeFileSync(`${file}.part`, String(server.address().port))
      fs.renameSync(`${file}.part`, file)
    })
  }
  whole().catch(error => console.error(error))
}
