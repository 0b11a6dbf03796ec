import type { AgentSettings } from "../../contract/agents.ts"
import type { ArtifactStore } from "../../contract/artifacts.ts"
import type { Backend } from "../../contract/backend.ts"
import type { BackendEnv } from "../../contract/backend-env.ts"
import type { Brand } from "../../contract/brand.ts"
import type { CompactionSettings } from "../../contract/compaction.ts"
import type { Environment } from "../../contract/env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Extension, ToolFilter } from "../../contract/extension.ts"
import type { Hooks, ToolException } from "../../contract/hooks.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { McpServers } from "../../contract/mcp.ts"
import type { Observer } from "../../contract/observe.ts"
import type { Policy, RunPolicy } from "../../contract/policy.ts"
import type { Model, Transport } from "../../contract/provider.ts"
import type { Limits } from "../../contract/result.ts"
import type {
  BackendDeadlines,
  BackgroundExecutor,
  ChainEntry,
  Logger,
  OutputSchemas,
  RuntimeConfig,
  Selection,
} from "../../contract/run.ts"
import type { Runtime } from "../../contract/runtime.ts"
import type { Store } from "../../contract/store.ts"
import type { Tool, UnknownOutcome } from "../../contract/tool.ts"
import type { Webhook } from "../../contract/webhook.ts"
import { defaultBrand } from "../../lib/brand.ts"
import { containedLogger } from "../../lib/contained.ts"
import { fetchTransport } from "../../lib/fetch-transport.ts"
import { checkedId } from "../../lib/id.ts"
import { whyNotJson } from "../../lib/json.ts"
import { oneOf, shown } from "../../lib/known-keys.ts"
import { checkedServers } from "../../lib/mcp-servers.ts"
import { persisting } from "../../lib/persist-artifact.ts"
import {
  agentsShape,
  backendValue,
  brandShape,
  chainEntryShape,
  compactionShape,
  deadlinesShape,
  environmentShape,
  extension,
  hooksShape,
  limitsShape,
  logger,
  modelValue,
  observer,
  selectionShape,
  store,
  texts,
  tool,
  transport,
  webhookShape,
} from "../../lib/schema/contract-shapes.ts"
import { checkShape, having, listOf, recordOf, required, type Shape, shapeOf, words } from "../../lib/schema/shape.ts"
import type { Semaphore } from "../../lib/semaphore.ts"
import { sha256 } from "../../lib/sha256.ts"
import type { ActivePolicy } from "../../policy/pipeline.ts"
import { type PolicyHost, policies, policyShape } from "../../policy/policies.ts"
import { createDispatcher, type Dispatcher, type DispatcherOptions, selectTools } from "../../tools/kernel/dispatch.ts"
import type { WebhookPost } from "../../webhooks/deliver.ts"
import { type WebhookSettings, webhookSettings } from "../../webhooks/settings.ts"
import { type BackendSource, Backends } from "../backends/backends.ts"
import type { TargetSource } from "../backends/targets.ts"
import { type CheckedAgents, checkedAgents, checkTypeTools, ownTools } from "../options/agents.ts"
import { resolveDeadlines } from "../options/backend-settings.ts"
import { type CheckedCompaction, checkedCompaction } from "../options/compaction.ts"
import { checkDisabled } from "../options/disabled-tools.ts"
import { drawsOnMore, type ServerExtension, sharedExtensions, toolFilter } from "../options/extensions.ts"
import { resolveLimits } from "../options/limits.ts"
import { checkedSchemas } from "../options/output.ts"
import { agentTools } from "../tools/agent-tools.ts"
import { fetchData } from "../tools/fetch-data.ts"
import { mayFetch, offloads, withFetchData } from "../tools/offload.ts"
import { createPriceList, type PriceList } from "./pricing.ts"
import { type Redaction, redactedLogger, redactionOf } from "./secrets.ts"

/** The defaults that a composition root provides in addition to the caller's configuration. */
export interface Defaults {
  store(): Store
  backend(): Backend
  /** Creates a model from its name; absent if the host does not support names. */
  model?(name: string): Model
  /** The model of runs that need one, if the configuration names none. */
  readonly defaultModel?: string | undefined
  /** Creates one of the host's backends by name, or all their names. */
  readonly backends?: BackendSource
  /** The services that the host gives to backends, in addition to the transport. */
  readonly backendEnv?: Omit<BackendEnv, "transport" | "brand" | "deadlines">
  /** Connects to the MCP servers that a backend does not connect to itself. */
  readonly servers?: ServerExtension
  /** SHA-256 as hex, if the host has a faster implementation. */
  digest?(text: string): string
  /** The artifact store if the configuration names none; absent: artifacts are not kept. */
  readonly artifacts?: ArtifactStore
  /** Secrets of the host by name, in addition to those of the configuration. */
  secretValues?(): Readonly<Record<string, string>>
  /** Returns true if the owner's process is known to be dead; absent: never. `isLocal`: only this machine uses the store. */
  isDead?(owner: JsonObject, isLocal: boolean): boolean
  /** Closes resources that were created for this runtime only. */
  close?(): Promise<void>
  /** Sends webhooks; `allow`: hosts that may be private. Default: `fetch`. */
  post?(allow: readonly string[]): WebhookPost
  /** The services that the host adds to a policy: files, real paths, services. */
  readonly policy?: PolicyHost
  /** Creates a runtime of the same kind with another configuration. `permits`: the slots that its runs share with others. */
  again(config: RuntimeConfig, permits: Semaphore | undefined): Runtime
  /** See `again`. */
  readonly permits?: Semaphore | undefined
}

/** The configuration after validation, with all defaults applied, frozen. */
export interface ResolvedConfig extends Redaction {
  readonly workspace: string
  readonly store: Store
  readonly workspaceId: string
  /** The schemas that runs can name as their output schema. */
  readonly schemas: OutputSchemas
  readonly model?: Model
  /** Throws `config_invalid` if the value is not a model. */
  resolveModel(model: Model | string): Model
  /** Resolves the backends and models of runs. */
  readonly targets: TargetSource
  readonly backends: Backends
  /** The shards, by the path of their run, that this runtime created and can no longer write. */
  readonly abandoned: Map<string, readonly number[]>
  /** Measured times to the first token, by backend. */
  readonly latencies: Map<string, number>
  readonly selection: Selection
  readonly mcpServers: McpServers
  readonly serverExtension?: ServerExtension
  readonly extensions: readonly Extension[]
  /** The tools of extensions that runs may use. */
  readonly extensionTools: ToolFilter
  readonly deadlines: BackendDeadlines
  readonly backendEnv: BackendEnv
  /** The tools that runs may use, apart from FetchData. */
  readonly tools: readonly Tool[]
  /** True if runs may use FetchData. They get it only if they offload results. */
  readonly mayFetch: boolean
  readonly dispatcher: Dispatcher
  /** The receivers of exceptions that tools throw. */
  readonly reporting: Pick<DispatcherOptions, "logger" | "onException">
  readonly limits: Limits
  /** Absent: runs start no agents unless their own settings allow it. */
  readonly agents?: CheckedAgents
  readonly compaction: CheckedCompaction
  readonly prices: PriceList
  readonly unknownPrice: "refuse" | "warn"
  readonly unknownOutcome: UnknownOutcome
  isDead(owner: JsonObject, isLocal: boolean): boolean
  readonly executor?: BackgroundExecutor
  readonly webhooks: WebhookSettings
  readonly hooks: Hooks
  readonly observers: readonly Observer[]
  readonly env: Environment
  readonly artifacts?: ArtifactStore
  readonly transport: Transport
  readonly brand: Brand
  readonly logger?: Logger
  readonly owner?: JsonObject
  digest(text: string): string
  /** Where a path leads; absent without links. */
  readonly resolvePath?: PolicyHost["resolvePath"]
  /** The policy of a run. `own`: the policies of the run itself, which add to the runtime's. */
  policyOf(own: readonly RunPolicy[]): Promise<ActivePolicy>
}

/** Validates the configuration and applies defaults. Throws `config_invalid` with a fix for settings that cannot work. */
export function resolveConfig(config: RuntimeConfig, defaults: Defaults): ResolvedConfig {
  checkShape<RuntimeConfig>("createRuntime", config, configShape)
  const { model, owner } = config
  requireJson("owner", owner)
  const store = config.store ?? defaults.store()
  const resolveModel = (given: Model | string) => checkedModel(given, defaults)
  const backends = new Backends(givenBackends(config), defaults.backend, defaults.backends)
  if (typeof config.backend === "string") backends.require(config.backend)
  const ownModel = ownModelOf(config, defaults, resolveModel)
  const redaction = redactionOf(config, store, defaults.secretValues?.() ?? {}, ownModel)
  const { redactorOf } = redaction
  const logger = config.logger && redactedLogger(containedLogger(config.logger), redactorOf)
  warnOfWeakSecrets(redactorOf().weak, logger)
  const compaction = checkedCompaction(config.compaction, resolveModel)
  const extensions = sharedExtensions(config.extensions)
  const { agents, tools, selected } = selectedTools(config, offloads(compaction))
  const reporting = reportingOf(config, logger)
  const artifacts = artifactsOf(config, defaults)
  const transport = config.transport ?? fetchTransport(config.fetch)
  const brand = { ...defaultBrand, ...config.brand }
  const deadlines = resolveDeadlines(config.deadlines)
  return Object.freeze({
    workspace: config.workspace ?? ".",
    store,
    workspaceId: checkedId("workspaceId", config.workspaceId ?? "default"),
    schemas: checkedSchemas(config.schemas),
    ...(ownModel && { model: ownModel }),
    resolveModel,
    targets: {
      backend: config.backend,
      chain: config.chain,
      model: ownModel ?? model,
      defaultModel: defaults.defaultModel,
      findBackend: (named: Backend | string | undefined) => backends.find(named),
      isBackend: (name: string) => backends.has(name),
      isOfHost: (backend: Backend) => backends.isOfHost(backend),
      resolveModel,
    },
    backends,
    abandoned: new Map(),
    latencies: new Map(),
    selection: config.selection ?? {},
    mcpServers: checkedServers(config.mcpServers),
    ...(defaults.servers && { serverExtension: defaults.servers }),
    extensions,
    extensionTools: toolFilter(config),
    deadlines,
    backendEnv: { ...defaults.backendEnv, transport, brand, deadlines },
    tools,
    mayFetch: mayFetch(config.allowedTools, config.disabledTools ?? []),
    dispatcher: createDispatcher(selected, reporting),
    reporting,
    ...redaction,
    limits: resolveLimits(config.limits, defaultLimits),
    ...(agents && { agents }),
    compaction,
    prices: createPriceList(config.resolvePricing),
    unknownPrice: oneOf("unknownPrice", config.unknownPrice ?? "refuse", ["refuse", "warn"]),
    unknownOutcome: oneOf("unknownOutcome", config.unknownOutcome ?? "tell", ["tell", "pause"]),
    isDead: defaults.isDead ?? (() => false),
    ...(config.executor && { executor: config.executor }),
    webhooks: webhookSettings(config, defaults.post),
    hooks: config.hooks ?? {},
    observers: config.observers ?? [],
    env: config.env ?? {},
    ...(artifacts && { artifacts }),
    transport,
    brand,
    ...(logger && { logger }),
    ...(owner && { owner }),
    digest: defaults.digest ?? sha256,
    ...(defaults.policy?.resolvePath && { resolvePath: defaults.policy.resolvePath }),
    policyOf: policies(
      config.policy,
      defaults.policy ?? {},
      [...tools, ...ownTools(agents)].map(({ name }) => name),
    ),
  })
}

function reportingOf({ hooks }: RuntimeConfig, logger: Logger | undefined): ResolvedConfig["reporting"] {
  const { toolError } = hooks ?? {}
  return {
    logger,
    onException: toolError && ((exception: ToolException) => toolError.call(hooks, exception)),
  }
}

function artifactsOf(config: RuntimeConfig, { artifacts }: Defaults): ArtifactStore | undefined {
  const persist = config.persistArtifact && persisting(config.persistArtifact)
  return config.artifacts ?? (persist ? { ...artifacts, save: (_run, artifact) => persist(artifact) } : artifacts)
}

/** The tools of the runtime, with those for its agents. `selected`: with FetchData, too, if results are offloaded. */
function selectedTools(config: RuntimeConfig, isOn: boolean) {
  const { tools = [], agents: given, allowedTools, disabledTools = [] } = config
  const agents = given && checkedAgents(given)
  const all = [...tools, ...(agents ? agentTools(agents) : [])]
  checkDisabled(
    disabledTools,
    all.map(({ name }) => name),
  )
  const filter = { disabled: disabledTools, ...(allowedTools && { allowed: allowedTools }) }
  const selected = selectTools(withFetchData(all, isOn, allowedTools), filter, drawsOnMore(config))
  const own = selected.filter((tool) => tool !== fetchData)
  if (agents) checkTypeTools(agents, own)
  return { agents, tools: own, selected: isOn ? selected : own }
}

/** A name may be a vendor's name of a model, which only its backend knows: then it is not resolved here. */
function ownModelOf(
  { model, backend, chain }: RuntimeConfig,
  { defaultModel }: Defaults,
  resolve: (model: Model | string) => Model,
): Model | undefined {
  const isNamed = typeof backend === "string" && backend !== "native"
  const isForeign = isNamed || (typeof backend === "object" && backend.capabilities.models === "own")
  if (isForeign || chain !== undefined) return typeof model === "object" ? resolve(model) : undefined
  const named = model ?? defaultModel
  return named === undefined ? undefined : resolve(named)
}

/** All that are given as values: a resumed run finds its backend among them by name. */
function givenBackends({ backend, backends = [], chain = [] }: RuntimeConfig): readonly Backend[] {
  const inChain = chain.map((entry) => (typeof entry === "string" ? undefined : entry.backend))
  return [...backends, backend, ...inChain].filter((each): each is Backend => typeof each === "object")
}

function warnOfWeakSecrets(names: readonly string[], logger: Logger | undefined): void {
  if (names.length === 0) return
  logger?.warn(
    "Secrets of fewer than 8 characters are masked as they are and in JSON and URLs, not in other encodings.",
    {
      names,
    },
  )
}

/** Throws `config_invalid` for a value that cannot be written to the journal. */
export function requireJson(name: string, value: unknown): void {
  const why = whyNotJson(value, name)
  if (why === undefined) return
  throw new LonghaulError("config_invalid", `${name} is not JSON: ${why}.`, {
    fix: `Pass ${name} as plain JSON: strings, finite numbers, booleans, null, arrays and objects of them.`,
  })
}

function checkedModel(model: Model | string, defaults: Defaults): Model {
  if (typeof model === "string" && defaults.model) return defaults.model(model)
  if (typeof model === "object" && typeof model.converse === "function") return model
  throw new LonghaulError("config_invalid", `model is ${shown(model)}, which is not a model.`, {
    fix: 'Pass a value such as anthropic({ model: "claude-sonnet-4-6", apiKey }); names work in "longhaul/node".',
  })
}

/** The settings that a runtime and its runs both take. */
export const sharedShape = {
  model: ["text", modelValue],
  backend: ["text", backendValue],
  chain: listOf(["text", shapeOf<Exclude<ChainEntry, string>>(chainEntryShape)]),
  selection: shapeOf<Selection>(selectionShape),
  // Looked into by checkedServers.
  mcpServers: recordOf("object"),
  extensions: listOf(extension),
  tools: listOf(tool),
  allowedTools: texts,
  disabledTools: texts,
  limits: shapeOf<Partial<Limits>>(limitsShape),
  compaction: ["false", shapeOf<CompactionSettings>(compactionShape)],
  unknownOutcome: words("tell", "pause"),
} as const

export const configShape: Shape<RuntimeConfig> = {
  ...sharedShape,
  workspace: "text",
  store,
  workspaceId: "text",
  schemas: recordOf(["object", "function"]),
  backends: listOf(backendValue),
  deadlines: shapeOf<Partial<BackendDeadlines>>(deadlinesShape),
  agents: shapeOf<AgentSettings>(agentsShape),
  resolvePricing: "function",
  unknownPrice: words("refuse", "warn"),
  recover: words("resume", "mark"),
  executor: having({ run: required("function") }),
  webhook: shapeOf<Webhook>(webhookShape),
  webhookAllow: texts,
  policy: shapeOf<Policy>(policyShape),
  concurrency: "number",
  hooks: shapeOf<Hooks>(hooksShape),
  observers: listOf(observer),
  secrets: recordOf(["text", "function"]),
  env: shapeOf<Environment>(environmentShape),
  artifacts: having({ save: required("function") }),
  persistArtifact: "function",
  transport,
  fetch: "function",
  brand: shapeOf<Partial<Brand>>(brandShape),
  logger,
  owner: "object",
}

const defaultLimits: Limits = { turns: 100 }
