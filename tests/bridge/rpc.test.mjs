import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CancellationTokenSource, ResponseError } from 'vscode-jsonrpc/node'
import { MAX_FRAME, Peer, RpcClosed, RpcError, RpcGarbled, RpcTimeout } from '../../bridge/rpc.js'
import { connected, sockets } from './support/connection.mjs'
import { until } from './support/until.mjs'

const soon = { timeoutMs: 5000 }
const frame = body => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

test('each side answers the other', async t => {
  const { peer, other } = await connected(t)
  other.onRequest('item/get', params => ({ echoed: params.item }))
  peer.serve('editor/complete', async params => ({ text: params.system }))
  other.listen()
  assert.deepEqual(await peer.request('item/get', { session: 's', item: 'F-1' }, soon), { echoed: 'F-1' })
  assert.deepEqual(await other.sendRequest('editor/complete', { system: 'be brief' }), { text: 'be brief' })
})

test('text outside ASCII is framed by its bytes', async t => {
  const { peer, other } = await connected(t)
  other.onRequest('item/get', params => params)
  other.listen()
  const sent = { session: '会话', item: '𝔽 näher … 检查'.repeat(5000) }
  assert.deepEqual(await peer.request('item/get', sent, soon), sent)
})

test('half a surrogate pair is replaced, since the other side would refuse the whole frame', async t => {
  const { peer, other } = await connected(t)
  other.onRequest('item/get', params => params)
  other.listen()
  const answer = await peer.request('item/get', { session: 'a\ud83d', item: '\\ud83d stays' }, soon)
  assert.deepEqual(answer, { session: 'a\ufffd', item: '\\ud83d stays' })
})

test('frames are read whole however the bytes are cut', async t => {
  const { near, far } = await sockets(t)
  const heard = []
  const peer = new Peer(near, near)
  peer.listen('surface/changed', params => heard.push(params.text))
  const notice = text => frame(JSON.stringify({ jsonrpc: '2.0', method: 'surface/changed', params: { text } }))
  far.setNoDelay(true)
  for (const byte of Buffer.from(notice('状态'))) {
    far.write(Buffer.of(byte))
    await new Promise(resolve => setImmediate(resolve))
  }
  far.write(notice('two') + notice('three'))
  await until('all three arrive', () => heard.length === 3)
  assert.deepEqual(heard, ['状态', 'two', 'three'])
})

test('a header in lower case, with another header beside it, is served', async t => {
  const { near, far } = await sockets(t)
  const heard = []
  const peer = new Peer(near, near)
  peer.listen('surface/changed', () => heard.push(true))
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'surface/changed' })
  far.write(`Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  await until('it arrives', () => heard.length === 1)
})

for (const [what, bytes] of [
  ['longer than the limit', `Content-Length: ${MAX_FRAME + 1}\r\n\r\n`],
  ['of a negative length', 'Content-Length: -1\r\n\r\n'],
  ['without a length', 'Content-Type: text/plain\r\n\r\n'],
  ['whose header never ends', 'x'.repeat(9000)],
]) {
  test(`a frame ${what} ends the connection`, async t => {
    const { near, far } = await sockets(t)
    let closed = null
    const peer = new Peer(near, near, { onClose: reason => { closed = reason } })
    const asked = peer.request('health/get', {}, soon)
    far.write(bytes)
    await assert.rejects(asked, RpcGarbled)
    assert.ok(closed instanceof RpcGarbled)
  })
}

test('what is no JSON, or no object, is answered, and the next request is served', async t => {
  const { near, far } = await sockets(t)
  const answers = []
  const reader = new Peer(far, far)
  const peer = new Peer(near, near)
  far.on('data', chunk => answers.push(chunk.toString()))
  peer.serve('health/get', () => ({ uptime_s: 7 }))
  far.write(frame('{"jsonrpc":') + frame('[1]'))
  await until('both are answered', () => answers.join('').includes('-32700') && answers.join('').includes('-32600'))
  assert.deepEqual(await reader.request('health/get', {}, soon), { uptime_s: 7 })
})

test('a request past its deadline is given up, and cancelled at the other side', async t => {
  const { peer, other } = await connected(t)
  let cancelled = false
  other.onRequest('item/get', (_params, token) => new Promise(() => token.onCancellationRequested(() => { cancelled = true })))
  other.listen()
  await assert.rejects(peer.request('item/get', { session: 's', item: 'i' }, { timeoutMs: 20 }), RpcTimeout)
  await until('the other side is told', () => cancelled)
})

test('a caller that goes away cancels its request', async t => {
  const { peer, other } = await connected(t)
  let begun = false
  let cancelled = false
  other.onRequest('item/get', (_params, token) => new Promise(() => {
    begun = true
    token.onCancellationRequested(() => { cancelled = true })
  }))
  other.listen()
  const leaving = new AbortController()
  const asked = peer.request('item/get', { session: 's', item: 'i' }, { ...soon, signal: leaving.signal })
  await until('the request arrives', () => begun)
  leaving.abort(new Error('left'))
  await assert.rejects(asked, /left/)
  await until('the other side is told', () => cancelled)
})

test('a request that the other side cancels stops its handler, and is answered as cancelled', async t => {
  const { peer, other } = await connected(t)
  peer.serve('editor/complete', (_params, signal) => new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')))
  }))
  other.listen()
  const source = new CancellationTokenSource()
  const asked = other.sendRequest('editor/complete', {}, source.token)
  source.cancel()
  await assert.rejects(asked, error => error instanceof ResponseError && error.code === -32800)
})

test('a method that nobody serves is refused', async t => {
  const { other } = await connected(t)
  other.listen()
  await assert.rejects(other.sendRequest('no/such', {}), error => error.code === -32601)
})

test("an error that is meant for the other side keeps its code and data; any other error's text stays here", async t => {
  const { peer, other, seen } = await connected(t)
  peer.serve('editor/complete', () => { throw new RpcError(-32603, 'empty', { code: 'editor_empty' }) })
  peer.serve('health/get', () => { throw new Error('/secret/path') })
  other.onRequest('item/get', () => new ResponseError(-32017, 'no such item', { code: 'item_not_found' }))
  other.listen()
  await assert.rejects(other.sendRequest('editor/complete', {}), error => error.data.code === 'editor_empty')
  await assert.rejects(other.sendRequest('health/get', {}), error => error.code === -32603 && !error.message.includes('secret'))
  assert.equal(seen.faults[0][0], 'health/get')
  await assert.rejects(
    peer.request('item/get', { session: 's', item: 'i' }, soon),
    error => error instanceof RpcError && error.data.code === 'item_not_found',
  )
})

test('the age of the oldest unanswered request is known, also after its caller gave up', async t => {
  const { peer, other } = await connected(t)
  let answer
  other.onRequest('item/get', () => new Promise(resolve => { answer = resolve }))
  other.listen()
  assert.equal(peer.oldestUnansweredMs, 0)
  await assert.rejects(peer.request('item/get', { session: 's', item: 'i' }, { timeoutMs: 30 }), RpcTimeout)
  assert.ok(peer.oldestUnansweredMs > 20) // timers may fire a moment early
  await until('the request arrives', () => answer)
  answer({})
  await until('the late answer is counted', () => peer.oldestUnansweredMs === 0)
})

test('a request that may take long says nothing about the health of the other side', async t => {
  const { peer, other } = await connected(t)
  other.onRequest('round/finish', () => new Promise(() => {}))
  other.listen()
  peer.request('round/finish', { session: 's', timeout_s: 1 }, { ...soon, watched: false }).catch(() => {})
  assert.equal(peer.oldestUnansweredMs, 0)
})

test('the end of the connection ends what is in flight, both ways, and every request after it', async t => {
  const { peer, other, seen, far } = await connected(t)
  let begun = false
  let stopped = false
  peer.serve('editor/complete', (_params, signal) => new Promise(() => {
    begun = true
    signal.addEventListener('abort', () => { stopped = true })
  }))
  other.listen()
  other.sendRequest('editor/complete', {}).catch(() => {})
  await until('the handler begins', () => begun)
  const asked = peer.request('item/get', { session: 's', item: 'i' }, soon)
  const rejected = assert.rejects(asked, RpcClosed)
  far.end()
  await rejected
  await until('the handler is stopped', () => stopped)
  assert.ok(seen.closed instanceof RpcClosed && !(seen.closed instanceof RpcGarbled))
  await assert.rejects(peer.request('health/get', {}, soon), RpcClosed)
})

test('an error without an id is told, since no caller will hear of it', async t => {
  const { seen, far } = await connected(t)
  far.write(frame(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'not JSON' } })))
  await until('it is told', () => seen.faults.length)
  const [[place, error]] = seen.faults
  assert.deepEqual([place, error.code, error.message], ['rpc', -32700, 'not JSON'])
})

test('what cannot be written down fails its caller, and is not waited for', async t => {
  const { peer } = await connected(t)
  const circle = {}
  circle.self = circle
  await assert.rejects(peer.request('item/get', { session: 's', item: circle }, soon), /circular/i)
  await new Promise(resolve => setTimeout(resolve, 5))
  assert.equal(peer.oldestUnansweredMs, 0)
})
