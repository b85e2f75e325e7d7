/** Waits for something to become true, and fails when it doesn't; nothing here sleeps a fixed time. */
export async function until(what, holds, ms = 5000) {
  const end = performance.now() + ms
  for (;;) {
    const value = await holds()
    if (value) return value
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

/** Whether a process of this id is there. */
export function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
