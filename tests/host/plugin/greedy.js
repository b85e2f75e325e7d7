// A plugin for tests alone: once the file that FOLDSTATE_VICTIM names holds a process id, it takes all file descriptors
// of the host but two, ends that process, and keeps the descriptors until the file is gone.
import fs from 'node:fs'

export const name = 'foldstate-test-greedy'

const EVERY_MS = 50
const LEFT = 2

export function apply(ctx) {
  const file = process.env.FOLDSTATE_VICTIM
  const held = []
  const timer = setInterval(() => {
    if (held.length) {
      if (fs.existsSync(file)) return
      for (const fd of held.splice(0)) fs.closeSync(fd)
      clearInterval(timer)
    } else if (fs.existsSync(file)) {
      const pid = Number(fs.readFileSync(file, 'utf8'))
      try {
        for (;;) held.push(fs.openSync('/dev/null', 'r'))
      } catch (error) {
        if (error.code !== 'EMFILE') throw error
      }
      for (const fd of held.splice(0, LEFT)) fs.closeSync(fd)
      process.kill(pid, 'SIGKILL')
    }
  }, EVERY_MS)
  ctx.effect(() => () => clearInterval(timer))
}
