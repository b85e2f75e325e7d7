/** The bridge's peer and vscode-jsonrpc at the two ends of a real connection on 127.0.0.1. */
import { once } from 'node:events'
import net from 'node:net'
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node'
import { Peer } from '../../../bridge/rpc.js'

/** Two sockets that are each other's far ends; both are gone when the test ends. */
export async function sockets(t) {
  const server = net.createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = net.connect(server.address().port, '127.0.0.1')
  const [far] = await once(server, 'connection')
  t.after(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  return { near, far }
}

/** @returns the bridge's peer, the other side, and what the peer reported */
export async function connected(t) {
  const { near, far } = await sockets(t)
  const seen = { closed: null, faults: [] }
  const peer = new Peer(near, near, {
    onClose: reason => { seen.closed = reason },
    onFault: (place, error) => seen.faults.push([place, error]),
  })
  const other = createMessageConnection(new StreamMessageReader(far), new StreamMessageWriter(far))
  other.onError(() => {})
  t.after(() => other.dispose())
  return { peer, other, seen, far }
}
