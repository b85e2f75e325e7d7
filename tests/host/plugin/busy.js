// A plugin for tests alone: keeps the host's loop busy while a session begins, as another plugin's own start may.
export const name = 'foldstate-test-busy'

const BUSY_MS = 400

export function apply(ctx) {
  ctx.on('session/created', () => {
    queueMicrotask(() => {
      const end = performance.now() + BUSY_MS
      while (performance.now() < end);
    })
  })
}
