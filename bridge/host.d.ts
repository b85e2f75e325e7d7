/** The host's shapes, as far as the bridge uses them. */

export interface Block {
  type: string
  text?: string
}

export interface Source {
  kind: string
  [field: string]: unknown
}

export interface Message {
  role: string
  id: string
  content: Block[]
  source: Source
}

export interface SessionEvent {
  seq: number
  time: number
  type: string
  data: any
}

export interface SessionHeader {
  id: string
  cwd?: string
  parentSession?: string
  origin?: 'subagent'
  isSeeded?: boolean
}

export interface ModelRoute {
  provider?: string
  model?: string
}

export interface AppendOptions {
  surfaceOp: 'append' | { op: 'replace'; startSeq: number; endSeq: number }
  sourceEventSeqs?: number[]
}

export interface Session {
  id: string
  header: SessionHeader
  /** The next entry's number: the log's length. */
  seq: number
  inheritedEventCount?: number
  surface: { nodes: readonly number[] }
  eventAt(seq: number): SessionEvent | undefined
  requestHeader?(): { config: ModelRoute } | undefined
  append(type: string, data: unknown, options?: AppendOptions): SessionEvent
}

export interface Agent {
  id: string
  status: 'idle' | 'running'
  options: ModelRoute
  session: Session
  ctx: Context
  runMaintenance<T>(job: (signal: AbortSignal) => Promise<T>): Promise<T>
}

export interface StepDecision {
  kind: string
  messages: Message[]
}

export interface Step {
  agent: Agent
  messages: Message[]
  turn: number
  step: number
  signal: AbortSignal
}

export interface SubagentEdge {
  runId?: string
  provider?: string
  id: string
  local?: boolean
  stopReason?: string
  lastAssistantMessage?: Block[]
}

export interface ModelInfo {
  reasoning?: { efforts?: { id: string }[] }
}

export interface Chunk {
  type: string
  text?: string
  usage?: { inputTokens?: number; outputTokens?: number }
  reason?: { kind: string; failure?: { message: string; code?: string } }
}

export interface PreparedCall {
  config: ModelRoute & Record<string, unknown>
  stream(options: Record<string, unknown>): AsyncIterable<Chunk>
}

export interface Llm {
  prepareCall(
    config: ModelRoute,
    signal: AbortSignal | undefined,
    configure: (controls: unknown, model: ModelInfo) => Record<string, unknown>,
  ): Promise<PreparedCall>
}

export interface ToolExecution {
  agent: Agent
  callId: string
  signal: AbortSignal
}

export interface Tool {
  name: string
  description: string
  parameters: Record<string, unknown>
  output: { schema: Record<string, unknown>; render(args: any, value: any): Block[] }
  execute(args: any, execution: ToolExecution): Promise<unknown>
}

export interface Services {
  sessions: { get(id: string): Session | undefined; list(): Session[] }
  agents: { get(id: string): Agent | undefined; list(): Agent[] }
  tools: { register(tool: Tool): unknown }
  llm: Llm
  agentDefaultModel: { currentSelection(): ModelRoute | undefined }
  tokenMeter: { estimateMessage(message: Message): number }
  logger: Logger
  profileContext: { name: string; home: string }
}

export interface Events {
  'session/created': (session: Session) => void
  'session/disposed': (session: Session) => void
  'session/event': (session: Session, event: SessionEvent) => void
  'agent/created': (info: { agent: Agent }) => unknown
  'agent/status': (info: { agent: Agent; status: string }) => void
  'agent/inbox/inserted': (info: { agent: Agent }) => void
  'agent/pre-step': (step: Step, next: () => Promise<StepDecision>) => Promise<StepDecision>
  'subagent/start': (edge: SubagentEdge) => void
  'subagent/end': (edge: SubagentEdge) => void
}

export interface Logger {
  warn(...words: unknown[]): void
}

export interface Context {
  logger?: Logger
  get<K extends keyof Services>(name: K): Services[K] | undefined
  on<K extends keyof Events>(name: K, listener: Events[K]): () => void
  effect(setup: () => () => unknown): unknown
}
