import type { AgentSettings } from "../../contract/agents.ts"
import type { Capabilities } from "../../contract/capabilities.ts"
import type { RecordedCompaction } from "../../contract/compaction.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RecordedExtension, ToolFilter } from "../../contract/extension.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { McpServers } from "../../contract/mcp.ts"
import type { Message } from "../../contract/message.ts"
import type { Effort, ModelSettings } from "../../contract/model-settings.ts"
import type { AlwaysScope, RunPolicy } from "../../contract/policy.ts"
import type { Limits } from "../../contract/result.ts"
import type { Attachment, ContinueInput, RunInput, RunReference, Slice } from "../../contract/run.ts"
import type { RunKey } from "../../contract/store.ts"
import type { Tool, UnknownOutcome } from "../../contract/tool.ts"
import { checkedId, newRunId } from "../../lib/id.ts"
import { oneOf, shown, wholeNumber } from "../../lib/known-keys.ts"
import { checkedServers } from "../../lib/mcp-servers.ts"
import { modelSettings } from "../../lib/model-settings.ts"
import { agentsShape, sliceShape } from "../../lib/schema/contract-shapes.ts"
import { checkShape, listOf, required, type Shape, shapeOf, usable, words } from "../../lib/schema/shape.ts"
import { checkRunPolicy, runPolicyShape } from "../../policy/policies.ts"
import { createDispatcher, type Dispatcher, selectTools } from "../../tools/kernel/dispatch.ts"
import { featuresIn, requirementsOf, selectBackend } from "../backends/select.ts"
import { type Chain, chainOf } from "../backends/targets.ts"
import { type ResolvedConfig, requireJson, sharedShape } from "../config/config.ts"
import { agentsOfRun, type CheckedAgents, checkTypeTools } from "../options/agents.ts"
import { type CheckedCompaction, checkedCompaction, recordedCompaction } from "../options/compaction.ts"
import { recordedCwd, workingDirectory } from "../options/cwd.ts"
import { checkDisabled } from "../options/disabled-tools.ts"
import { checkedExtensions, drawnOn, drawsOnMore, type RunExtensions, toolFilter } from "../options/extensions.ts"
import { resolveLimits } from "../options/limits.ts"
import { withMemoryContext } from "../options/memory-context.ts"
import { type OutputForm, outputForm, redactedForm } from "../options/output.ts"
import { AGENT, agentTools, isAgentTool } from "../tools/agent-tools.ts"
import { fetchData } from "../tools/fetch-data.ts"
import { offloads, withFetchData } from "../tools/offload.ts"
import { attachedParts } from "./attachments.ts"
import { checkedMessages } from "./messages.ts"

/** The validated input of a run, completed with the settings of its runtime. */
export interface CheckedInput {
  readonly messages: readonly Message[]
  readonly system?: string | undefined
  /** The backends that run it, in order, with their models. */
  readonly chain: Chain
  /** The entry of the chain that continues or starts it. */
  readonly entry: number
  /** The servers that the backend connects to itself. */
  readonly mcpServers: McpServers
  readonly extensions: RunExtensions
  /** The text that the extensions have added to `system`, once they are open. */
  readonly instructions?: string
  /** The vendor's session that the run continues. */
  readonly providerSessionId?: string | undefined
  readonly settings: ModelSettings
  readonly form?: OutputForm | undefined
  readonly dispatcher: Dispatcher
  readonly limits: Limits
  readonly compaction: CheckedCompaction
  /** The run's own settings of it, for the journal. */
  readonly ownCompaction?: RecordedCompaction | false | undefined
  readonly slice?: Slice | undefined
  readonly unknownOutcome: UnknownOutcome
  /** The run's own policies: of its start and of each resume. */
  readonly policies: readonly RunPolicy[]
  /** The working directory of the tools. */
  readonly cwd: string
  /** The working directory in the journal. Decisions about calls are bound to it. */
  readonly recordedCwd: string
  readonly metadata?: JsonObject | undefined
  /** Present if the run may start agents, or is one. */
  readonly agents?: CheckedAgents | undefined
  /** The name of its type, if it is an agent. */
  readonly agentType?: string
  /** Present if the run continues a conversation. */
  readonly before?: EarlierExchanges
}

/** The part of a conversation before a run. */
export interface EarlierExchanges {
  /** The node that the run continues. */
  readonly nodeId: string
  readonly messages: readonly Message[]
  /** The calls that people allowed by the decision `always`. */
  readonly allowed: readonly AlwaysScope[]
  /** The extensions that the last one used. */
  readonly extensions: readonly RecordedExtension[]
}

export function runKey(config: ResolvedConfig, input: RunInput): RunKey {
  // Validated when the run is opened, so that errors become its result.
  const { runId = newRunId(), nodeId = "main" } = usable<Partial<RunReference>>(input, idShape)
  return { workspaceId: config.workspaceId, runId, nodeId }
}

/** `filter`: the tools of extensions that it may use. Default: those that the input selects. */
export async function checkInput(
  config: ResolvedConfig,
  key: RunKey,
  input: RunInput,
  filter?: ToolFilter,
): Promise<CheckedInput> {
  if (typeof input === "string") throw taskAlone()
  checkShape<RunInput>("run", input, runShape)
  checkedId("runId", key.runId)
  checkedId("nodeId", key.nodeId)
  const { system } = withMemoryContext(input)
  const { effort, metadata } = input
  if (effort !== undefined) oneOf("effort", effort, efforts)
  requireJson("metadata", metadata)
  requireJson("messages", input.messages)
  const servers = { ...config.mcpServers, ...checkedServers(input.mcpServers) }
  const compaction = checkedCompaction(input.compaction, config.resolveModel, config.compaction)
  const agents = agentsOfRun(config.agents, input.agents, input.disabledTools)
  const dispatcher = dispatcherOf(config, input, agents, offloads(compaction))
  if (agents) checkTypeTools(agents, [...config.tools, ...dispatcher.listTools()])
  // FetchData reads what the run already has: it needs no feature of a backend.
  const tools = dispatcher.listTools().filter(({ name }) => dispatcher.tool(name) !== fetchData)
  const chain = await selectedChain(config, input, tools, Object.keys(servers).length > 0)
  const own = chain.flatMap(({ backend }) => backend.capabilities.ownTools)
  const known = [...own, ...config.tools, ...(input.tools ?? []), ...dispatcher.listTools(), fetchData].map(
    ({ name }) => name,
  )
  checkAllowed(config, input, known)
  checkDisabled(input.disabledTools, [...known, ...own.map(({ nativeName }) => nativeName)])
  const drawn = drawnOn(config, chain, servers, checkedExtensions(input.extensions), filter ?? toolFilter(input))
  const redactor = config.redactorOf(chain, drawn, key)
  const form = outputForm(input, config.schemas)
  const cwd = workingDirectory(config.workspace, input.cwd ?? ".")
  return {
    messages: redactor.json(await messagesOf(config, input, cwd)),
    ...(system !== undefined && { system: redactor.text(system) }),
    chain,
    entry: 0,
    ...drawn,
    providerSessionId: input.providerSessionId,
    settings: modelSettings(input),
    form: form && redactedForm(redactor, form),
    dispatcher,
    limits: resolveLimits(input.limits, config.limits),
    compaction,
    ...(input.compaction !== undefined && {
      ownCompaction: redactor.json(recordedCompaction(input.compaction, compaction)),
    }),
    slice: input.slice && checkedSlice(input.slice),
    unknownOutcome: oneOf("unknownOutcome", input.unknownOutcome ?? config.unknownOutcome, unknownOutcomes),
    policies: input.policy ? [checkRunPolicy(input.policy)] : [],
    ...(agents && dispatcher.tool(AGENT) && { agents }),
    cwd,
    recordedCwd: recordedCwd(config.workspace, cwd),
    metadata: metadata && redactor.json(metadata),
  }
}

/** The chain of a new run. `auto` chooses its backend by what the work needs. */
async function selectedChain(
  { targets, backends, backendEnv, selection: own, latencies }: ResolvedConfig,
  input: RunInput,
  tools: readonly { readonly name: string }[],
  hasServers: boolean,
): Promise<Chain> {
  const isAuto = input.chain === undefined && (input.backend ?? targets.backend) === "auto"
  if (!isAuto) return chainOf(targets, input)
  const selection = { ...own, ...input.selection }
  const [native] = await chainOf(targets, { ...input, backend: backends.native })
  const usable = await backends.usable(backendEnv)
  // Without a model the native backend is the last resort, whose failure says what is missing.
  const candidates = native.model ? usable : usable.filter((backend) => backend !== backends.native)
  const requires = requirementsOf(tools, input.task ?? "", selection.requires)
  const featuresOf = (capabilities: Capabilities) => featuresIn(capabilities, tools, hasServers)
  const { backend, reasons } = selectBackend(candidates, backends.native, requires, selection, latencies, featuresOf)
  const [target] = await chainOf(targets, { ...input, backend })
  const chosen = { ...target, reasons }
  // A program that turns out to be logged out, or to fail, is replaced by the backend that needs none.
  return backend === backends.native || !native.model
    ? [chosen]
    : [
        { ...chosen, isChosen: true },
        { ...native, reasons: ["The chosen backend failed."] },
      ]
}

export function checkedSlice(slice: Slice): Slice {
  for (const [name, value] of Object.entries(slice)) wholeNumber(`slice.${name}`, value)
  return slice
}

function taskAlone(): LonghaulError {
  return new LonghaulError("config_invalid", "run was given a string, not an object.", {
    fix: 'Pass the task as { task: "…" }.',
  })
}

const unknownOutcomes: readonly UnknownOutcome[] = ["tell", "pause"]
const efforts: readonly Effort[] = ["minimal", "low", "medium", "high", "max"]

async function messagesOf(config: ResolvedConfig, input: RunInput, cwd: string): Promise<readonly Message[]> {
  const given = checkedMessages(input.messages)
  const task: unknown = input.task
  const attached = input.attachments ? await attachedParts(input.attachments, config.env, cwd) : []
  if (typeof task === "string" && task.trim() !== "")
    return [...given, { role: "user", content: [...attached, { type: "text", text: task }] }]
  if (task !== undefined || given.length === 0) {
    throw new LonghaulError("config_invalid", "The run has nothing to do.", { fix: "Pass a task, or messages." })
  }
  return attached.length === 0 ? given : [...given, { role: "user", content: attached }]
}

/** A run can only restrict the tools of its runtime, and may add tools of its own. `fetches`: it offloads results. */
function dispatcherOf(
  config: ResolvedConfig,
  input: RunInput,
  agents: CheckedAgents | undefined,
  fetches: boolean,
): Dispatcher {
  const { tools = [], allowedTools, disabledTools } = input
  const own = toolsWith(config, agents)
  const isSame = own === config.tools && fetches === offloads(config.compaction)
  if (isSame && tools.length === 0 && !allowedTools && !disabledTools) return config.dispatcher
  const moreComeLater = drawsOnMore({ ...config, ...config.targets }) || drawsOnMore(input)
  return fetchingDispatcher(config, [...own, ...tools], toolFilter(input), fetches, moreComeLater)
}

/** Names of a backend's own tools are known once the backend is. Those of extensions come later. */
function checkAllowed(config: ResolvedConfig, input: RunInput, known: readonly string[]): void {
  const { extensions, mcpServers } = config
  const own = { extensions: input.extensions ?? [], mcpServers: input.mcpServers ?? {} }
  if (drawsOnMore({ extensions, mcpServers }) || drawsOnMore(own)) return
  const unknown = input.allowedTools?.find((name) => !known.includes(name) && !name.startsWith("mcp"))
  if (unknown === undefined) return
  throw new LonghaulError("config_invalid", `allowedTools names ${shown(unknown)}, which is not an available tool.`, {
    fix: `Use any of: ${[...new Set(known)].join(", ")}.`,
  })
}

/** A dispatcher of the selected tools, with FetchData if the run has results to fetch and its runtime allows it. */
export function fetchingDispatcher(
  config: ResolvedConfig,
  tools: readonly Tool[],
  selection: Parameters<typeof selectTools>[1],
  fetches: boolean,
  moreComeLater = false,
): Dispatcher {
  const selected = selectTools(withFetchData(tools, fetches, selection.allowed), selection, moreComeLater)
  const mayFetch = fetches && config.mayFetch
  return createDispatcher(mayFetch ? selected : selected.filter((tool) => tool !== fetchData), config.reporting)
}

/** The runtime's tools, with those for these agents instead of its own. */
export function toolsWith(config: ResolvedConfig, agents: CheckedAgents | undefined): readonly Tool[] {
  if (agents?.types === config.agents?.types && agents?.depth === config.agents?.depth) return config.tools
  return [...config.tools.filter((tool) => !isAgentTool(tool)), ...(agents ? agentTools(agents) : [])]
}

export const idShape: Shape<Partial<RunReference>> = { runId: "text", nodeId: "text" }

const attachmentShapes = [
  shapeOf<Extract<Attachment, { path: string }>>({ path: required("text"), mediaType: "text" }),
  shapeOf<Extract<Attachment, { mediaType: string }>>({
    data: required(["text", "bytes"]),
    mediaType: required("text"),
    name: "text",
  }),
]

const runShape: Shape<RunInput> = {
  ...sharedShape,
  task: "text",
  messages: listOf("object"),
  attachments: listOf(attachmentShapes),
  runId: "text",
  nodeId: "text",
  system: "text",
  memoryContext: "text",
  providerSessionId: "text",
  temperature: "number",
  maxOutputTokens: "number",
  effort: words(...efforts),
  outputSchema: ["text", "function", "object"],
  outputMode: words("strict", "forward"),
  agents: ["false", shapeOf<AgentSettings>(agentsShape)],
  slice: shapeOf<Slice>(sliceShape),
  policy: shapeOf<RunPolicy>(runPolicyShape),
  signal: "signal",
  cwd: "text",
  metadata: "object",
  onEvent: "function",
  onProgress: "function",
}

const { task: _task, messages: _messages, runId: _runId, ...rest } = runShape
export const continueShape: Shape<ContinueInput> = rest
