/**
 * The plugin's settings, and what else is taken from the host's own libraries. They may be absent (a development patch
 * can't resolve them): without the schema's the settings are taken as given, under the same defaults.
 * @import { Config as WireConfig, EditorKind, Language } from './frames.js'
 * @import { ModelRoute } from './host.js'
 */

/**
 * @typedef {{
 *   editor?: EditorKind,
 *   language?: Language | 'auto',
 *   tier0_tokens?: number,
 *   finish_s?: number,
 *   editor_provider?: string,
 *   editor_model?: string,
 * }} Settings `finish_s`: how long a headless run may be held for one last round, in seconds
 */

/** @param {string} library @returns {Promise<any>} undefined where it can't be resolved */
const hosts = library => import(library).catch(() => undefined)

const [z, boot] = await Promise.all([
  hosts('@deepseek-ai/schemastery').then(library => library?.default),
  hosts('@deepseek-ai/dsh-app-boot'),
])

/** The host's own version, or `unknown`. @type {string} */
export const hostVersion = (() => {
  try {
    return boot.getDshRuntimeVersion()
  } catch {
    return 'unknown'
  }
})()

/** What the host's settings page shows and checks. */
export const Config = z?.object({
  editor: z
    .union(['model', 'rules', 'off'])
    .default('model')
    .description('Who edits the state: the host\'s own model, fixed rules without a model, or nobody.'),
  language: z.union(['auto', 'zh', 'en']).default('auto').description('The language that the state is written in.'),
  tier0_tokens: z.natural().min(100).max(800).default(400).description('The most tokens of the state block.'),
  finish_s: z.natural().max(120).default(20).description('How long a headless run may be held at its end, in seconds.'),
  editor_provider: z.string().default('').description('The provider of the editor\'s model; empty: the session\'s.'),
  editor_model: z.string().default('').description('The editor\'s model; empty: the session\'s own.'),
})

/** @param {Settings} settings @returns {WireConfig} what the sidecar is told of them */
export function wireConfig({ editor, language, tier0_tokens }) {
  return {
    ...(editor === undefined ? {} : { editor }),
    ...(language === undefined || language === 'auto' ? {} : { language }),
    ...(tier0_tokens === undefined ? {} : { tier0_tokens }),
  }
}

/** @param {Settings} settings @returns {ModelRoute} */
export const editorRoute = ({ editor_provider = '', editor_model = '' }) => ({
  provider: editor_provider,
  model: editor_model,
})

/** @param {Settings} settings @param {string | undefined} profile the host program's name @returns {number} seconds */
export const finishSeconds = ({ finish_s = 20 }, profile) => (profile === 'headless' ? finish_s : 0)
