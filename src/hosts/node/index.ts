import type { hash as Hash } from "node:crypto"
import { isAbsolute, resolve } from "node:path"
import { native } from "../../backends/native/index.ts"
import type { Brand } from "../../contract/brand.ts"
import type { Environment } from "../../contract/env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import type { Runtime } from "../../contract/runtime.ts"
import type { Tool } from "../../contract/tool.ts"
import { mcpServers } from "../../extensions/mcp/lazy.ts"
import { fetchTransport } from "../../lib/fetch-transport.ts"
import { oneOf } from "../../lib/known-keys.ts"
import { checkShape, type Shape } from "../../lib/schema/shape.ts"
import type { Semaphore } from "../../lib/semaphore.ts"
import { secretsIn } from "../../policy/redact/names.ts"
import { assembleRuntime } from "../../runtime/runtime.ts"
import { configShape } from "../../settings/config/config.ts"
import { fileTools } from "../../tools/index.ts"
import { backendHost } from "./backends/environment.ts"
import { namedBackends } from "./backends/named-backends.ts"
import { nodeFiles } from "./files/files.ts"
import { nodeFetch } from "./http/guarded-fetch.ts"
import { nodeTransport } from "./http/http-transport.ts"
import { defaultModelName, namedModel, noModelFix } from "./model-names.ts"
import { isDead, processOwner } from "./owner.ts"
import { nodePolicyHost } from "./policy/host.ts"
import { checkPolicyFile } from "./policy/read-policy.ts"
import { nodeSearch } from "./search/ripgrep.ts"
import { nodeShell } from "./shell/shell.ts"
import { artifactsBeside, artifactsIn } from "./store/artifacts.ts"
import { fsStore } from "./store/fs-store.ts"
import { defaultSpillFolder, defaultStoreRoot } from "./store/state-folder.ts"

/** Settings of the runtime for Node: those of the portable one, and locations on disk. */
export interface NodeRuntimeConfig extends RuntimeConfig {
  /** Results too long for a transcript go to `{toolArtifactDir}/tool-output/{runId}/{tenant}/`. Default: next to the run. */
  readonly toolArtifactDir?: string | undefined
  /** Sandbox for Bash, if it is among `tools`: `off`, `auto` (if available) or `required`. Default `off`. */
  readonly sandbox?: "off" | "auto" | "required"
}

/**
 * The runtime for Node: runs on disk, tools in `workspace` (default: the current folder), models by name. Without any
 * configuration it needs only a provider's key in the environment.
 */
export function createRuntime(given: NodeRuntimeConfig = {}): Runtime {
  return assembled(given)
}

function assembled(given: NodeRuntimeConfig, permits?: Semaphore): Runtime {
  checkShape<NodeRuntimeConfig>("createRuntime", given, { ...configShape, ...ownShape })
  const { toolArtifactDir, sandbox = "off", ...config } = given
  oneOf("sandbox", sandbox, ["off", "auto", "required"])
  if (typeof config.policy?.file === "string") checkPolicyFile(config.policy.file)
  const workspace = resolve(config.workspace ?? ".")
  if (config.store === undefined) refuseBucketName(process.env.LONGHAUL_STORE)
  const store = config.store ?? fsStore(defaultStoreRoot())
  const hidden = isAbsolute(store.location) ? [store.location] : []
  const variables = { ...process.env, ...valuesOf(config.secrets ?? {}) }
  const defaultModel = defaultModelName(variables)
  const tools = config.tools ?? fileTools()
  const env = config.env ?? environmentOf(workspace, hidden, tools, sandbox, config.brand)
  const artifacts =
    toolArtifactDir === undefined ? artifactsBeside(store, defaultSpillFolder()) : artifactsIn(toolArtifactDir)
  return assembleRuntime(
    {
      ...config,
      workspace,
      store,
      tools,
      env,
      transport: config.transport ?? (config.fetch ? fetchTransport(config.fetch) : nodeTransport()),
      owner: config.owner ?? processOwner(),
    },
    {
      store: () => store,
      backend: () => native({ noModelFix: noModelFix() }),
      model: (name) => namedModel(name, variables),
      defaultModel,
      backends: namedBackends,
      servers: mcpServers,
      backendEnv: backendHost({ workspace, ...given.deadlines, variables: () => variables }),
      digest: sha256,
      secretValues: () => secretsIn(process.env),
      isDead,
      policy: nodePolicyHost,
      post: (allow) => nodeFetch({ allow, brand: config.brand ?? {} }).post,
      artifacts,
      permits,
      again: (next, shared) => assembled({ ...next, sandbox, toolArtifactDir }, shared),
      // A shell that the caller passed is closed by the caller.
      close: async () => (config.env ? undefined : env.shell?.close()),
    },
  )
}

/** The command line opens a bucket named by the environment; a program must pass its store. */
function refuseBucketName(named: string | undefined): void {
  if (!named?.startsWith("s3://")) return
  throw new LonghaulError("config_invalid", "LONGHAUL_STORE names a bucket, and no store was passed.", {
    fix: "Pass store: s3Store({ bucket, … }) to createRuntime, or unset LONGHAUL_STORE.",
  })
}

const ownShape: Shape<Omit<NodeRuntimeConfig, keyof RuntimeConfig>> = { toolArtifactDir: "text", sandbox: "text" }

/** A shell is created only with Bash: most runtimes run no command. */
function environmentOf(
  workspace: string,
  hidden: readonly string[],
  tools: readonly Tool[],
  sandbox: "off" | "auto" | "required",
  brand: Partial<Brand> = {},
): Environment {
  const hasBash = tools.some(({ name }) => name === "Bash")
  return {
    files: nodeFiles({ roots: [workspace], hidden }),
    search: nodeSearch({ roots: [workspace], hidden, brand }),
    ...(hasBash && { shell: nodeShell({ root: workspace, hidden, sandbox }) }),
    fetch: nodeFetch({ brand }),
  }
}

function valuesOf(secrets: NonNullable<RuntimeConfig["secrets"]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secrets).map(([name, value]) => [name, typeof value === "function" ? value() : value]),
  )
}

/** Evaluated on first use, and once: a run loads the module anyway, an import need not. */
let hash: typeof Hash | undefined

function sha256(text: string): string {
  hash ??= process.getBuiltinModule("node:crypto").hash
  return hash("sha256", text)
}

export * from "../../index.ts"
export { type AiSdkModel, type AiSdkOptions, fromAiSdk } from "../../providers/ai-sdk/index.ts"
export { type AnthropicOptions, anthropic } from "../../providers/anthropic/index.ts"
export { type GoogleOptions, google } from "../../providers/google/index.ts"
export { type OpenAiOptions, openai } from "../../providers/openai/index.ts"
export { type AgentTools, type AgentToolsOptions, type CallOptions, createAgentTools } from "./agent-tools.ts"
export { type NodeFilesOptions, nodeFiles } from "./files/files.ts"
export type { ConnectOptions } from "./http/connect-limit.ts"
export { type NodeFetchOptions, nodeFetch } from "./http/guarded-fetch.ts"
export { type NodeTransportOptions, nodeTransport } from "./http/http-transport.ts"
export { type FetchHandler, type Served, type ServeOptions, serve } from "./http/serve.ts"
export { parseModelName } from "./model-names.ts"
export { nodePolicyHost } from "./policy/host.ts"
export { type NodeSearchOptions, nodeSearch } from "./search/ripgrep.ts"
export { type NodeShellOptions, nodeShell } from "./shell/shell.ts"
export { userSkillFolders } from "./skill-folders.ts"
export { createOnlyStore, type FsStoreOptions, fsStore } from "./store/fs-store.ts"
export { defaultStoreRoot, native }
