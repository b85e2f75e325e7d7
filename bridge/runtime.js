/** Which interpreter runs the sidecar: what `foldstate install` wrote down, read anew at each start. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from './guard.js'

/**
 * @typedef {{ interpreter: string, args: string[], version: string }} Runtime
 */

/** Why the sidecar can't be started, in a sentence that says how to mend it. */
export class NoRuntime extends Error {}

/**
 * @param {string} dataDir
 * @returns {Runtime}
 * @throws {NoRuntime} or what the machine answered where the file can't be read at the moment
 */
export function findRuntime(dataDir) {
  const file = path.join(dataDir, 'runtime.json')
  const mend = 'run `foldstate install` again'
  /** @type {any} */
  let found
  try {
    found = JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') throw new NoRuntime(`${file} isn't there: ${mend}`)
    // What a machine that is short of something refuses now, it may give soon: that is worth another try.
    if (code !== undefined) throw new Error(`${file} can't be read: ${messageOf(error)}`)
    throw new NoRuntime(`${file} can't be read (${messageOf(error)}): ${mend}`)
  }
  const { interpreter, args, version } = found ?? {}
  if (typeof interpreter !== 'string' || !path.isAbsolute(interpreter)) {
    throw new NoRuntime(`${file} names no absolute path as its interpreter: ${mend}`)
  }
  if (!Array.isArray(args) || !args.every(arg => typeof arg === 'string') || typeof version !== 'string') {
    throw new NoRuntime(`${file} lacks a list of args or a version: ${mend}`)
  }
  return { interpreter, args, version }
}
