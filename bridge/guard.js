/**
 * The one wrapper around everything that the host calls of ours. What it wraps never throws and never rejects: the host
 * goes on as if we weren't there, and the fault is counted under the name of its place, where a person can see it.
 */

/**
 * @typedef {<A extends unknown[], R>(place: string, fn: (...args: A) => R) => (...args: A) => Awaited<R> |
 *   Promise<Awaited<R> | undefined> | undefined} Guard
 */

/**
 * @param {(place: string, error: unknown) => void} report told of every swallowed fault; it must not throw
 * @returns {Guard} wraps a function: a throw gives undefined, a rejection resolves to undefined
 */
export function makeGuard(report) {
  return (place, fn) => (...args) => {
    try {
      const result = fn(...args)
      if (!(result instanceof Promise)) return /** @type {Awaited<typeof result>} */ (result)
      return result.catch(error => {
        report(place, error)
        return undefined
      })
    } catch (error) {
      report(place, error)
      return undefined
    }
  }
}

/**
 * A promise that rejects when `promise` takes longer than it may. What it waited for goes on unobserved.
 * @template T
 * @param {Promise<T>} promise
 * @param {number} ms
 * @param {string} what names the thing in the error
 * @returns {Promise<T>}
 */
export async function within(promise, ms, what) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms)
  })
  try {
    return /** @type {T} */ (await Promise.race([promise, late]))
  } finally {
    clearTimeout(timer)
  }
}

/** @param {unknown} error @returns {string} */
export const messageOf = error => (error instanceof Error ? error.message : String(error))
