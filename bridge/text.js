/** Text on its way to the sidecar. */

/** The longest title or label that the wire takes, in code points. */
const MAX_LINE = 1000

/** @param {string} line @returns {string} at most as long as the wire takes */
export const shortened = line => (line.length > MAX_LINE ? [...line].slice(0, MAX_LINE).join('') : line)

/**
 * The JSON of a value, in which every string is valid Unicode: half a surrogate pair, as a careless cut leaves it, is
 * replaced, because the other side refuses a whole frame for it.
 * @param {unknown} value
 * @returns {string}
 */
export function toJson(value) {
  const json = JSON.stringify(value)
  if (!/\\ud[89a-f]/.test(json)) return json
  return JSON.stringify(value, (_key, inner) => (typeof inner === 'string' ? inner.toWellFormed() : inner))
}
