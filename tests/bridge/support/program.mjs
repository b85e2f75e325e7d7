/**
 * A sidecar of the tests: the wire as it should be, with the one fault that its argument names. It keeps a journal of
 * what it was asked, `journal.jsonl` in its data folder, a line a request.
 */
import { appendFileSync, closeSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node'

const [, , fault] = process.argv
const wire = createMessageConnection(new StreamMessageReader(process.stdin), new StreamMessageWriter(process.stdout))
let data = ''
let revision = 0
const commit = () => {
  writeFileSync(path.join(data, 'committed'), '')
  process.exit(0)
}
const asked = (method, params) => appendFileSync(path.join(data, 'journal.jsonl'), `${JSON.stringify({ method, params })}\n`)
wire.onRequest('initialize', async params => {
  data = params.data_dir
  const mark = path.join(data, 'began')
  revision = existsSync(mark) ? 1 : 9
  writeFileSync(mark, '')
  if (fault === 'slow') await new Promise(resolve => setTimeout(resolve, 300))
  if (fault === 'refuses') throw new Error('no')
  if (fault === 'breaks') {
    closeSync(1)
    setTimeout(() => {
      console.error('no module named foldstate')
      process.exit(1)
    }, 50)
    return new Promise(() => {})
  }
  if (fault === 'deaf') return new Promise(() => {})
  const server = { name: 'program', version: String(process.pid) }
  return { protocol: fault === 'future' ? 2 : params.protocol, server, config: {}, wants: ['turn/end'], warnings: [] }
})
wire.onRequest('health/get', () => (fault === 'hangs' ? new Promise(() => {}) : { uptime_s: 1 }))
wire.onRequest('round/finish', async () => {
  if (fault === 'hangs-in-round') process.kill(process.pid, 'SIGSTOP')
  return { receipt: null }
})
wire.onRequest('item/get', () => {
  if (fault === 'dies') {
    console.error('no such table: items')
    process.exit(7)
  }
  if (fault === 'leaves' || fault === 'stays') {
    closeSync(1)
    if (fault === 'leaves') setTimeout(commit, 100)
    return new Promise(() => {})
  }
  if (fault === 'garbles') process.stdout.write('Content-Length: nonsense\r\n\r\n')
  return { item: 1 }
})
// A session's text has revision 9 in the first process and 1 in the next, as after a store that was begun anew.
wire.onRequest('session/open', params => {
  asked('session/open', params)
  const { session } = params
  if (params.origin !== 'subagent') wire.sendNotification('surface/changed', { session, text: `state ${revision}`, tokens: 1, revision })
  return { session, revision, cursor: -1, resend_from: 0, read_only: false, degraded: [] }
})
for (const method of ['session/events', 'session/close', 'subagent/started', 'subagent/settled']) {
  wire.onRequest(method, params => {
    asked(method, params)
    return null
  })
}
if (fault === 'stays') setInterval(() => {}, 1000)
else if (fault !== 'leaves') {
  // What came before the end is still in the reader's queue.
  process.stdin.on('end', () => setTimeout(() => process.exit(0), 50))
}
if (fault === 'mute') setInterval(() => {}, 1000)
else {
  wire.listen()
  wire.sendNotification('sidecar/starting', { pid: process.pid })
}
