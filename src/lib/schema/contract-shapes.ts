import type { AgentSettings, AgentType } from "../../contract/agents.ts"
import type { Brand } from "../../contract/brand.ts"
import type { Feature } from "../../contract/capabilities.ts"
import type { CompactionSettings, OffloadSettings } from "../../contract/compaction.ts"
import type { FilePart, ImagePart, TextPart } from "../../contract/content.ts"
import type { Environment } from "../../contract/env.ts"
import type { Hooks } from "../../contract/hooks.ts"
import type { McpAuth, McpProgram, McpRemote } from "../../contract/mcp.ts"
import type {
  AssistantMessage,
  ReasoningPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "../../contract/message.ts"
import type { Observer } from "../../contract/observe.ts"
import type { Limits } from "../../contract/result.ts"
import type { BackendDeadlines, ChainEntry, Selection, Slice } from "../../contract/run.ts"
import type { Webhook } from "../../contract/webhook.ts"
import type { RetryPolicy } from "../retry.ts"
import { having, listOf, openShapeOf, recordOf, required, type Shape, shapeOf, words } from "./shape.ts"

/** The shapes of what several public functions take. */

const run = required("function")
export const tool = having(
  { name: required("text"), inputSchema: required("object"), run },
  "Make each tool with defineTool().",
)
/** The part of a tool that a model gets. */
export const toolSpec = having({
  name: required("text"),
  description: required("text"),
  inputSchema: required("object"),
})
export const store = having(
  { folder: required("function"), list: required("function") },
  "Pass what memoryStore, fsStore or s3Store returns.",
)
export const modelValue = having(
  { converse: required("function") },
  'Pass a value such as anthropic({ model: "claude-sonnet-4-6", apiKey }); names work in "longhaul/node".',
)
export const backendValue = having(
  { name: required("text"), capabilities: required("object"), open: required("function") },
  "Pass what native(), codex() or another function for a backend returns.",
)
export const extension = having(
  { name: required("text"), open: required("function") },
  "Pass what mcp(), skills() or another function for an extension returns.",
)
export const toolPolicy = having(
  { preTool: required("function"), postTool: required("function") },
  "Pass a PolicyClient or toolPolicy(…) as policy.",
)
export const logger = having({ warn: required("function") })
export const transport = having({ stream: required("function") })
export const files = having({ read: required("function"), list: required("function") })
const search = having({ find: required("function") })
const shell = having({ run: required("function") })
const guardedFetch = having({ get: required("function"), post: required("function") })
export const observer = openShapeOf<Observer>({
  deltas: "boolean",
  recordEvent: required("function"),
  recordMetric: "function",
  flush: "function",
})

export const texts = listOf("text")
export const textsByName = recordOf("text")
/** The environment of a process. */
export const variables = recordOf(["text", "undefined"])
export const textOrTexts = ["text", texts] as const
export const sandboxWords = words("off", "auto", "required")

export const environmentShape: Shape<Environment> = { files, search, shell, fetch: guardedFetch }

export const brandShape: Shape<Partial<Brand>> = {
  schemaPrefix: "text",
  mcpClientName: "text",
  mcpClientVersion: "text",
  tempdirPrefix: "text",
  providerModelPrefix: "text",
  doctorCommand: "text",
  serviceName: "text",
  clientInfoName: "text",
  clientInfoTitle: "text",
}

const textPart = shapeOf<TextPart>({ type: required(words("text")), text: required("text") })
const media = { mediaType: required("text"), data: required("text") } as const
const contentParts = listOf([
  textPart,
  shapeOf<ImagePart>({ ...media, type: required(words("image")) }),
  shapeOf<FilePart>({ ...media, type: required(words("file")), name: "text" }),
])
const assistantParts = listOf([
  textPart,
  shapeOf<ReasoningPart>({
    type: required(words("reasoning")),
    text: required("text"),
    opaque: "json",
    origin: required("text"),
  }),
  shapeOf<ToolCallPart>({
    type: required(words("tool-call")),
    callId: required("text"),
    wireId: "text",
    name: required("text"),
    args: required("json"),
    opaque: "json",
    origin: "text",
  }),
])
const toolResults = listOf(
  shapeOf<ToolResultPart>({
    type: required(words("tool-result")),
    callId: required("text"),
    wireId: "text",
    status: required(words("ok", "error", "denied", "unknown")),
    output: required(contentParts),
  }),
)

const message = (text: readonly "text"[]) => [
  shapeOf<UserMessage>({ role: required(words("user")), content: required([...text, contentParts]) }),
  shapeOf<AssistantMessage>({ role: required(words("assistant")), content: required([...text, assistantParts]) }),
  shapeOf<ToolMessage>({ role: required(words("tool")), content: required(toolResults) }),
]
export const messages = listOf(message([]))
/** A message as a caller may write it. */
export const givenMessage = message(["text"])

export const hooksShape: Shape<Hooks> = {
  gateBeforeTool: "function",
  preRun: "function",
  postRun: "function",
  preTurn: "function",
  postTurn: "function",
  preToolCall: "function",
  postToolCall: "function",
  toolError: "function",
  compaction: "function",
  stop: "function",
}

export const limitsShape: Shape<Partial<Limits>> = {
  turns: "number",
  tokens: "number",
  usd: "number",
  timeMs: "number",
}
export const sliceShape: Shape<Slice> = { turns: "number", timeMs: "number" }

export const retryShape: Shape<Partial<RetryPolicy>> = { attempts: "number", firstMs: "number", longestMs: "number" }

const features: readonly Feature[] = [
  ...(["streaming", "tools", "parallel_tools", "vision", "audio", "code_execution", "file_access"] as const),
  ...(["web_access", "interrupt", "structured_output", "mcp"] as const),
]

export const selectionShape: Shape<Selection> = {
  strategy: words("capability_match", "cost_optimized", "latency_optimized"),
  preferred: "text",
  requires: listOf(words(...features)),
}

export const deadlinesShape: Shape<Partial<BackendDeadlines>> = {
  openMs: "number",
  replyMs: "number",
  stopMs: "number",
  idleMs: "number",
}

const offloadShape: Shape<OffloadSettings> = {
  thresholdBytes: "number",
  maxPreviewChars: "number",
  summarizer: "function",
}

export const compactionShape: Shape<CompactionSettings> = {
  at: "number",
  keep: "number",
  window: "number",
  model: ["text", modelValue],
  instructions: "text",
  offload: ["boolean", shapeOf<OffloadSettings>(offloadShape)],
}

const agentTypeShape: Shape<AgentType> = {
  description: required("text"),
  system: required("text"),
  tools: listOf(["text", tool]),
  model: ["text", modelValue],
  effort: words("minimal", "low", "medium", "high", "max"),
  limits: shapeOf<Partial<Limits>>(limitsShape),
}

export const agentsShape: Shape<AgentSettings> = {
  types: recordOf(shapeOf<AgentType>(agentTypeShape)),
  depth: "number",
  atOnce: "number",
  total: "number",
  gates: words("pause", "deny"),
}

const authShape: Shape<McpAuth> = {
  grant: words("login", "client-credentials"),
  clientId: "text",
  clientSecret: "text",
  privateKey: "text",
  algorithm: "text",
  clientMetadataUrl: "text",
  scope: "text",
  allowOtherIssuer: "boolean",
  provider: "object",
}

const serverSettings = {
  required: "boolean",
  timeoutMs: "number",
  trustHints: "boolean",
  allowSampling: "boolean",
} as const

const programShape: Shape<McpProgram> = {
  ...serverSettings,
  type: words("stdio"),
  command: required("text"),
  args: texts,
  cwd: "text",
  env: textsByName,
  revision: words("2026-07-28"),
}

const remoteShape: Shape<McpRemote> = {
  ...serverSettings,
  type: words("http", "sse"),
  url: required("text"),
  headers: textsByName,
  headersProvider: "function",
  auth: shapeOf<McpAuth>(authShape),
  preferBindingTransport: "boolean",
}

export const mcpServersField = recordOf([shapeOf<McpProgram>(programShape), shapeOf<McpRemote>(remoteShape)])

export const chainEntryShape: Shape<Exclude<ChainEntry, string>> = {
  backend: ["text", backendValue],
  model: ["text", modelValue],
  requires: listOf(words(...features)),
}

export const webhookShape: Shape<Webhook> = {
  url: required("text"),
  events: listOf(words("paused", "done", "failed", "cancelled")),
  secretRef: textOrTexts,
  secret: textOrTexts,
  headers: textsByName,
  headerRefs: textsByName,
}
