/**
 * The wire, as far as the bridge uses it: one interface for the params and the result of every frame that it sends or
 * reads, complete and named exactly as on the wire, also where the bridge leaves a field out. Times are RFC 3339 with
 * an offset, durations seconds. `unknown` stands for what the bridge passes on without looking into it.
 */

export type EditorKind = 'model' | 'rules' | 'off'
export type Language = 'zh' | 'en'
export type Origin = 'user' | 'subagent'

export interface Server {
  name: string
  version: string
}

export interface Host {
  name: string
  version: string
  home?: string
}

/** Everything left out keeps the sidecar's default. */
export interface Config {
  editor?: EditorKind
  language?: Language | null
  quiet_s?: number
  patience_s?: number
  tier0_tokens?: number
  editor_max_tokens?: number
  editor_timeout_s?: number
}

export interface Degraded {
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
  config?: Config
  clock?: 'system' | 'manual'
  now?: string
}

export interface InitializeResult {
  protocol: number
  server: Server
  config: Config
  wants: string[]
  warnings: string[]
}

export interface SessionOpenParams {
  session: string
  title?: string
  cwd?: string
  origin?: Origin
  parent?: string
  profile?: unknown
  locale?: Language
  head?: LogHead
}

export interface SessionOpenResult {
  session: string
  revision: number
  cursor: number
  resend_from: number
  read_only: boolean
  degraded: Degraded[]
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
  accept_gap?: boolean
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

export interface ItemGetParams {
  session: string
  item: string
  brief?: boolean
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
  budget_chars?: number
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

/** Null where no round was run, or none was accepted. */
export interface RoundFinishResult {
  receipt: unknown
}

export interface HealthGetParams {}

export interface HealthGetResult {
  uptime_s: number
  sessions_open: number
  pending_events: number
  timers: number
  rounds: unknown
  skipped: Record<string, number>
  editor: EditorKind
  last_errors: unknown[]
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

export interface Usage {
  input_tokens?: number
  output_tokens?: number
}

export interface EditorCompleteResult {
  text: string
  finish?: string
  model?: string
  usage?: Usage
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
  'item/get': { params: ItemGetParams; result: ItemGetResult }
  'evidence/get': { params: EvidenceGetParams; result: EvidenceGetResult }
  'round/finish': { params: RoundFinishParams; result: RoundFinishResult }
  'health/get': { params: HealthGetParams; result: HealthGetResult }
  'editor/complete': { params: EditorCompleteParams; result: EditorCompleteResult }
  'surface/changed': { params: SurfaceChangedParams; result: null }
  'sidecar/starting': { params: SidecarStartingParams; result: null }
}
