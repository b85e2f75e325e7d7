/** A sidecar of the tests: the wire as it should be, with the one fault that its argument names. */
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node'

const [, , fault] = process.argv
const wire = createMessageConnection(new StreamMessageReader(process.stdin), new StreamMessageWriter(process.stdout))
wire.onRequest('initialize', async params => {
  if (fault === 'slow') await new Promise(resolve => setTimeout(resolve, 1000))
  if (fault === 'refuses') throw new Error('no')
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
  if (fault === 'dies') process.exit(7)
  if (fault === 'garbles') process.stdout.write('Content-Length: nonsense\r\n\r\n')
  return { item: 1 }
})
wire.onClose(() => process.exit(0))
process.stdin.on('end', () => process.exit(0))
if (fault === 'mute') setInterval(() => {}, 1000)
else {
  wire.listen()
  wire.sendNotification('sidecar/starting', { pid: process.pid })
}
