/**
 * The wire, as far as the bridge uses it: one interface for the params and the result of every frame that it sends or
 * reads, named exactly as on the wire. Times are RFC 3339 with an offset, durations seconds.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export type EditorKind = 'model' | 'rules' | 'off'
export type Language = 'zh' | 'en'
export type Origin = 'user' | 'subagent'

export interface NamedVersion {
  name: string
  version: string
}

export interface Host {
  name: string
  version: string
  home?: string
}

/** What the bridge passes on of its own settings; everything left out keeps the sidecar's default. */
export interface ConfigParams {
  editor?: EditorKind
  language?: Language
  tier0_tokens?: number
}

export interface Complaint {
  code: string
  message: string
}

/** One entry of the host's log. `time` is in milliseconds since 1970. */
export interface LogEntry {
  seq: number
  time: number
  type: string
  data: unknown
}

export interface LogHead {
  seq: number
  time: number
}

export interface InitializeParams {
  protocol: 1
  host: Host
  data_dir: string
  config?: ConfigParams
}

export interface InitializeResult {
  protocol: number
  server: NamedVersion
  config: unknown
  wants: string[]
  warnings: unknown[]
}

export interface SessionOpenParams {
  session: string
  title?: string
  cwd?: string
  origin?: Origin
  parent?: string
  locale?: Language
  head?: LogHead
}

export interface SessionOpenResult {
  session: string
  revision: number
  cursor: number
  resend_from: number
  read_only: boolean
  degraded: Complaint[]
}

export interface SessionCloseParams {
  session: string
}

export interface SessionEventsParams {
  session: string
  after: number
  through: number
  events: LogEntry[]
  skipped?: Record<string, number>
}

export interface SessionEventsResult {
  cursor: number
  ledger: string[]
}

export interface SubagentStartedParams {
  session: string
  child: string
  run?: string
  label?: string
  mode?: string
  at: string
}

export interface SubagentStartedResult {
  event: string | null
}

export interface SubagentSettledParams {
  session: string
  child: string
  run?: string
  label?: string
  stop_reason: string
  closing?: string
  at: string
}

export interface SubagentSettledResult {
  event: string | null
  duplicate: boolean
}

export interface SurfaceGetParams {
  session: string
}

export interface SurfaceGetResult {
  text: string
  tokens: number
  revision: number
  omitted: number
}

export interface ItemGetParams {
  session: string
  item: string
}

/** Passed on to the agent as it came. */
export interface ItemGetResult {
  item: unknown
  history: unknown
  events: unknown
}

export interface EvidenceGetParams {
  session: string
  ref: string
  offset?: number
}

/** Passed on to the agent as it came. */
export interface EvidenceGetResult {
  ref: string
  text: string
  truncated: boolean
  length: number
  digest: string
  channel: string
  from: string
  at: string
  origin: unknown
}

export interface RoundFinishParams {
  session: string
  timeout_s: number
}

export interface HealthGetParams {}

export interface HealthGetResult {
  uptime_s: number
}

export interface EditorMessage {
  role: 'user' | 'assistant'
  text: string
}

export interface EditorCompleteParams {
  session: string
  batch_id: string
  attempt: number
  system: string
  messages: EditorMessage[]
  max_tokens: number
  timeout_s: number
}

export interface EditorUsage {
  input_tokens: number
  output_tokens: number
}

export interface EditorCompleteResult {
  text: string
  finish?: string
  model?: string
  usage?: EditorUsage
}

export interface HostEntriesParams {
  session: string
  seqs: number[]
}

export interface HostEntriesResult {
  entries: LogEntry[]
}

export interface SurfaceChangedParams {
  session: string
  text: string
  tokens: number
  revision: number
}

export interface SidecarStartingParams {
  pid: number
}

/** Every method that the bridge sends or reads; a notification's result is null. */
export interface Frames {
  initialize: { params: InitializeParams; result: InitializeResult }
  'session/open': { params: SessionOpenParams; result: SessionOpenResult }
  'session/close': { params: SessionCloseParams; result: null }
  'session/events': { params: SessionEventsParams; result: SessionEventsResult }
  'subagent/started': { params: SubagentStartedParams; result: SubagentStartedResult }
  'subagent/settled': { params: SubagentSettledParams; result: SubagentSettledResult }
  'surface/get': { params: SurfaceGetParams; result: SurfaceGetResult }
  'item/get': { params: ItemGetParams; result: ItemGetResult }
  'evidence/get': { params: EvidenceGetParams; result: EvidenceGetResult }
  'round/finish': { params: RoundFinishParams; result: unknown }
  'health/get': { params: HealthGetParams; result: HealthGetResult }
  'editor/complete': { params: EditorCompleteParams; result: EditorCompleteResult }
  'host/entries': { params: HostEntriesParams; result: HostEntriesResult }
  'surface/changed': { params: SurfaceChangedParams; result: null }
  'sidecar/starting': { params: SidecarStartingParams; result: null }
}
