/**
 * Puts the state before the agent: a block of text, appended at a turn's first step when it changed, and at any step
 * where no block of ours stands. It owns the newest text of each session; whether it stands before the agent is read
 * off the session's surface, so that a resume, a compaction and a fork need no memory of ours.
 * @import { Context, Message, Session, Step, StepDecision } from './host.js'
 * @import { Frames } from './frames.js'
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { entryAt, inheritedCount, isSubagent } from './entries.js'
import { within } from './guard.js'
import { sessionStem } from './stem.js'

export const SOURCE_KIND = 'plugin:dsh-foldstate'
const ROLE = 'state'
/** So many blocks may stand before the old ones are cleared although that loses the provider's cache. */
const MAX_STANDING = 8
/** The longest that a step waits for the reading of its session's file. Milliseconds. */
const FILE_MS = 250

/**
 * @typedef {{ text: string, revision: number }} Known
 * @typedef {{ known: Known | null, reading: Promise<void> | null }} Live what is known of a session that lives, and the
 *   reading of its file while it goes on
 */

/** @param {string} text @returns {Message} */
const blockOf = text => ({
  role: 'user',
  id: randomUUID(),
  content: text ? [{ type: 'text', text }] : [],
  source: { kind: SOURCE_KIND, role: ROLE },
})

/** @param {Session} session @returns {{ seq: number, message: Message }[]} our blocks with a text, oldest first */
function standing(session) {
  const found = []
  for (const seq of session.surface.nodes) {
    const entry = entryAt(session, seq)
    if (entry?.type !== 'user/message') continue
    const { source, content } = entry.data
    if (source?.kind === SOURCE_KIND && source.role === ROLE && content.length) found.push({ seq, message: entry.data })
  }
  return found
}

/** @param {Session} session @returns {boolean} */
function followsToolResult(session) {
  const last = session.surface.nodes.at(-1)
  return last !== undefined && entryAt(session, last)?.type === 'tool/result'
}

export class Surface {
  #ctx
  #folder
  #report
  /** @type {Map<string, Live>} */ #live = new Map()
  /** Sessions whose prefix a compaction rewrote since their last step. @type {Set<string>} */ #compacted = new Set()

  /** @param {Context} ctx @param {string} dataDir @param {(place: string, error: unknown) => void} report */
  constructor(ctx, dataDir, report) {
    this.#ctx = ctx
    this.#report = report
    this.#folder = path.join(dataDir, 'sessions')
  }

  /**
   * The sidecar told a session's text. What comes after the session went is nobody's.
   * @param {Frames['surface/changed']['params']} surface
   */
  changed({ session, text, revision }) {
    const live = this.#live.get(session)
    if (live && !(live.known && live.known.revision > revision)) live.known = { text, revision }
  }

  /** A new sidecar answered: what it says counts, also where its revisions begin anew. */
  connected() {
    for (const { known } of this.#live.values()) if (known) known.revision = -1
  }

  /**
   * A session came to life: its text of the last time is read before its first step asks for it.
   * @param {Session} session
   */
  add(session) {
    if (isSubagent(session) || this.#live.has(session.id)) return
    /** @type {Live} */
    const live = { known: null, reading: null }
    this.#live.set(session.id, live)
    void this.#read(session.id, live)
  }

  /** @param {Session} session */
  remove({ id }) {
    this.#live.delete(id)
    this.#compacted.delete(id)
  }

  /** @param {Session} session @param {{ type: string, data: any }} event */
  grew({ id }, event) {
    if (event.type === 'user/message' && event.data?.source?.kind === 'compact-checkpoint') this.#compacted.add(id)
  }

  /**
   * What the step is to begin with: the decision as it came, or with our block after its messages.
   * @param {Step} step
   * @param {StepDecision} decision
   * @returns {Promise<StepDecision>}
   */
  async enter(step, decision) {
    const { session } = step.agent
    if (decision.kind !== 'enter') return decision
    if (isSubagent(session)) {
      this.#clear(session, standing(session))
      return decision
    }
    if (!decision.messages.length && !(step.step > 1 && followsToolResult(session))) return decision
    const text = this.#place(session, await this.#textOf(session), step.step === 1)
    return text === null ? decision : { ...decision, messages: [...decision.messages, blockOf(text)] }
  }

  /**
   * Clears the blocks that must not, or need no longer, stand.
   * @param {Session} session
   * @param {string | null} text null where it isn't known
   * @param {boolean} turnBegins
   * @returns {string | null} the text to append
   */
  #place(session, text, turnBegins) {
    const blocks = standing(session)
    const foreign = blocks.filter(({ seq }) => seq < inheritedCount(session))
    const own = blocks.slice(foreign.length)
    const last = own.at(-1)?.message.content[0]?.text
    const append = text && (last === undefined || (turnBegins && text !== last)) ? text : null
    // Without the meter nothing is cleared: what it is told for would be wrong. A later step finds it ready.
    if (!this.#ctx.get('tokenMeter')) return append
    const prefixLost = this.#compacted.delete(session.id) || foreign.length > 0
    if (text === '' && turnBegins) this.#clear(session, blocks)
    else if (prefixLost || own.length + (append ? 1 : 0) > MAX_STANDING) {
      this.#clear(session, append ? blocks : [...foreign, ...own.slice(0, -1)])
    }
    return append
  }

  /**
   * Empties blocks where they stand, each with its claim: without it the host's figures of the context go wrong.
   * @param {Session} session
   * @param {{ seq: number, message: Message }[]} blocks
   */
  #clear(session, blocks) {
    const meter = this.#ctx.get('tokenMeter')
    if (!meter) return
    for (const { seq, message } of blocks) {
      session.append('compaction/prune', {
        shadowedRange: { start: seq, end: seq },
        shadowedSeqs: [seq],
        shadowedTokenCount: meter.estimateMessage(message),
      })
      session.append('user/message', blockOf(''), {
        surfaceOp: { op: 'replace', startSeq: seq, endSeq: seq },
        sourceEventSeqs: [seq],
      })
    }
  }

  /** @param {Session} session @returns {Promise<string | null>} null where no text can be had in time */
  async #textOf(session) {
    this.add(session)
    const live = this.#live.get(session.id)
    if (!live) return null
    if (!live.known) {
      const read = within(live.reading ?? this.#read(session.id, live), FILE_MS, `reading the text of ${session.id}`)
      await read.catch(error => this.#report('surface file', error))
    }
    return live.known?.text ?? null
  }

  /**
   * Reads the text of the last time. Never rejects; a failure is told, and not remembered: the next step tries again.
   * @param {string} session
   * @param {Live} live what a sidecar tells meanwhile is newer
   */
  #read(session, live) {
    live.reading = this.#textIn(session)
      .then(text => {
        if (text !== null) live.known ??= { text, revision: -1 }
      })
      .catch(error => this.#report('surface file', error))
      .finally(() => {
        live.reading = null
      })
    return live.reading
  }

  /** @param {string} session @returns {Promise<string | null>} null where it has no file yet */
  async #textIn(session) {
    const name = `${sessionStem(session)}.surface.json`
    /** @type {string} */
    let content
    try {
      content = await readFile(path.join(this.#folder, name), 'utf8')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
      throw error
    }
    const found = JSON.parse(content)
    if (found?.session !== session || typeof found.text !== 'string') throw new Error(`${name} isn't this session's`)
    return found.text
  }
}
