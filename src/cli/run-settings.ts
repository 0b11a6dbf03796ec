import { resolve } from "node:path"
import type { Files } from "../contract/env.ts"
import { LonghaulError } from "../contract/error.ts"
import type { McpServers } from "../contract/mcp.ts"
import type { ModelSettings } from "../contract/model-settings.ts"
import type { PolicySource } from "../contract/policy.ts"
import type { Limits } from "../contract/result.ts"
import type { Logger, RunInput } from "../contract/run.ts"
import type { Runtime } from "../contract/runtime.ts"
import type { Variables } from "../hosts/node/model-names.ts"
import { modelSettings } from "../lib/model-settings.ts"
import { checkAsked, type Guard, type GuardChoice, policyOf } from "./approval/gate.ts"
import { numberOption, numberSetting, type StoreChoice, UsageError, workspaceIdOf } from "./arguments.ts"
import type { ConfigFile } from "./config/file.ts"
import { isBucket, storeAt } from "./config/store-choice.ts"
import { chosenExtensions, type ExtensionChoice } from "./run-extensions.ts"
import { checkWithheld, ownTools } from "./vendor-tools.ts"

/**
 * As given on the command line. Options take precedence over the environment, which takes precedence over the config
 * file.
 */
export interface RunChoice extends ExtensionChoice, StoreChoice {
  readonly workspace?: string
  readonly model?: string
  readonly backend?: string
  readonly system?: string
  readonly "mcp-config"?: string
  readonly "max-turns"?: string
  readonly timeout?: string
  readonly "read-only"?: boolean
}

export interface OpenRuntime {
  readonly runtime: Runtime
  readonly workspace: string
  /** Names of all tools, including disabled ones. */
  readonly toolNames: readonly string[]
  /** The store, if it is not the default. */
  readonly store?: string | undefined
  /** The files that the tools see. */
  readonly files: Files
}

export interface OpenOptions {
  readonly questions?: boolean
  readonly logger?: Logger | undefined
  /** Receives warnings. */
  readonly complain?: (message: string) => void
}

/** `questions`: the model may ask the person, and the run then waits for the answer. */
export async function openRuntime(
  choice: RunChoice & Pick<GuardChoice, "ask">,
  file: ConfigFile | undefined,
  guard: Guard,
  { questions = true, logger, complain = () => {} }: OpenOptions = {},
): Promise<OpenRuntime> {
  const { createRuntime, defaultStoreRoot, nodeFiles } = await import("../hosts/node/index.ts")
  const { askUserTool, bashTool, fileTools } = await import("../tools/index.ts")
  const { disabledTools = [], tools: given = [], ...settings } = file?.settings ?? {}
  const workspace = resolve(choice.workspace ?? settings.workspace ?? ".")
  const store = chooseStore(choice.store, file)
  const { backend } = choice
  const model = hasOwnModels(backend) ? choice.model : (await chooseModel(choice.model, file)).model
  const isReadOnly = choice["read-only"] ?? false
  const tools = [...fileTools(), ...(questions ? [askUserTool()] : []), ...(guard.bash ? [bashTool()] : []), ...given]
  const isReadBy = { readsOnly: isReadOnly, hasOwnFiles: hasOwnModels(backend) }
  const added = await chosenExtensions(choice, settings, workspace, isReadBy)
  const own = await ownTools(backend)
  const toolNames = [...new Set([...[...tools, ...own].map(({ name }) => name), ...added.toolNames])]
  checkAsked(choice.ask, toolNames)
  const changing = [...tools, ...own].filter(({ effect }) => effect !== "none").map(({ name }) => name)
  const { allowedTools: configured, unknownPrice, hooks, observers, resolvePricing } = settings
  try {
    checkAllowed(configured, toolNames)
    // A list of what is allowed also covers tools of a vendor that are not declared.
    const unchanging = [...toolNames.filter((name) => !changing.includes(name)), "FetchData"]
    const allowedTools = isReadOnly && own.length > 0 ? (configured ?? unchanging) : configured
    const withheld = [...disabledTools, ...(isReadOnly ? changing : [])]
    await checkWithheld(backend, { ...(allowedTools && { allowedTools }), disabledTools: withheld })
    const runtime = createRuntime({
      workspace,
      workspaceId: workspaceIdOf(choice),
      ...(model !== undefined && { model }),
      ...(backend !== undefined && { backend }),
      tools,
      ...(added.extensions.length > 0 && { extensions: added.extensions }),
      sandbox: guard.sandbox,
      disabledTools: withheld,
      ...(store !== undefined && { store: await storeAt(store) }),
      ...(choice["mcp-config"] !== undefined && { mcpServers: await serversOf(choice["mcp-config"], isReadOnly) }),
      ...(allowedTools && { allowedTools }),
      ...(unknownPrice && { unknownPrice }),
      policy: policyOf(guard, await foundPolicy(guard, workspace, toolNames, complain)),
      ...(hooks && { hooks }),
      ...(observers && { observers }),
      ...(resolvePricing && { resolvePricing }),
      ...(logger && { logger }),
    })
    const hidden = store !== undefined && isBucket(store) ? [] : [resolve(store ?? defaultStoreRoot())]
    const files = nodeFiles({ roots: [workspace], hidden })
    return { runtime, workspace, toolNames, files, store }
  } catch (error) {
    throw file && LonghaulError.is(error) ? withFile(error, file.path) : error
  }
}

async function serversOf(path: string, isReadOnly: boolean): Promise<McpServers> {
  if (isReadOnly) {
    throw new UsageError("--mcp-config cannot be used with --read-only.", "Omit one: MCP tools may change anything.")
  }
  const { readMcpServers } = await import("../hosts/node/mcp/config-file.ts")
  return readMcpServers(path)
}

/** The runtime leaves names that it does not know to the extensions; here theirs are known. */
function checkAllowed(allowed: readonly string[] | undefined, known: readonly string[]): void {
  const unknown = allowed?.find((name) => !known.includes(name) && name !== "FetchData" && !name.startsWith("mcp__"))
  if (unknown === undefined) return
  throw new LonghaulError(
    "config_invalid",
    `allowedTools names ${JSON.stringify(unknown)}, which is not an available tool.`,
    { fix: `Use any of: ${known.join(", ")}.` },
  )
}

/** Other backends use their own default model, unless one is named. */
function hasOwnModels(backend: string | undefined): boolean {
  return backend !== undefined && backend !== "native" && backend !== "auto"
}

/** The restrictions of the policy file in or above the workspace, unless the user named a file. */
async function foundPolicy(
  { policy }: Guard,
  workspace: string,
  tools: readonly string[],
  complain: (message: string) => void,
): Promise<readonly PolicySource[]> {
  if (policy !== undefined) return []
  const { findPolicyFile, loadFoundPolicy } = await import("../hosts/node/policy/load-policy.ts")
  const path = findPolicyFile(workspace)
  if (path === undefined) return []
  const { sources, ignored } = await loadFoundPolicy(path, { tools })
  if (ignored.length > 0) {
    complain(
      `${path} was found, so only its restrictions apply, not: ${ignored.join(", ")}. To apply all: --policy ${path}`,
    )
  }
  return sources
}

/** Settings of each run, apart from its task. */
export function inputSettings(
  choice: RunChoice,
  file: ConfigFile | undefined,
): ModelSettings & Pick<RunInput, "system" | "limits"> {
  const system = choice.system ?? file?.settings.system
  return {
    ...(system !== undefined && { system }),
    ...modelSettings(file?.settings ?? {}),
    limits: limitsOf(choice, file),
  }
}

/** The store; undefined: from the environment, or the state folder. */
export function chooseStore(
  option: string | undefined,
  file: ConfigFile | undefined,
  variables: Variables = process.env,
): string | undefined {
  const named = variables.LONGHAUL_STORE
  if (option !== undefined || !named) return option ?? file?.settings.store
  return isBucket(named) ? named : undefined
}

interface ChosenModel {
  readonly model: string
  readonly reason: string
  /** Set if nothing chose a model. */
  readonly isFallback?: true
}

/** The model and the reason it was chosen. */
export async function chooseModel(
  option: string | undefined,
  file: ConfigFile | undefined,
  variables: Variables = process.env,
): Promise<ChosenModel> {
  if (option !== undefined) return { model: option, reason: "--model" }
  if (variables.LONGHAUL_MODEL) return { model: variables.LONGHAUL_MODEL, reason: "LONGHAUL_MODEL is set" }
  if (file?.settings.model !== undefined) return { model: file.settings.model, reason: `model in ${file.path}` }
  const { defaultModelName, keyNameOf, namedProviders } = await import("../hosts/node/model-names.ts")
  const model = defaultModelName(variables)
  const provider = namedProviders.find(({ name, keyNames }) =>
    model === undefined ? keyNames.some((key) => variables[key]) : model.startsWith(`${name}:`),
  )
  const key = provider && keyNameOf(provider, variables)
  if (model !== undefined) return { model, reason: `${key} is set` }
  const reason = key === undefined ? "no key is set" : `${key} alone does not select a model`
  return { model: "offline", reason, isFallback: true }
}

/** A script must not take the answers of built-in rules for those of a model. */
export async function requireModel(
  choice: Pick<RunChoice, "model" | "backend">,
  file: ConfigFile | undefined,
): Promise<void> {
  if (hasOwnModels(choice.backend)) return
  const { reason, isFallback } = await chooseModel(choice.model, file)
  if (!isFallback || [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)) return
  const { noModelFix } = await import("../hosts/node/model-names.ts")
  throw new UsageError(
    `There is no model: ${reason}.`,
    `${noModelFix()} For built-in rules without a model: --model offline.`,
  )
}

function limitsOf(choice: RunChoice, file: ConfigFile | undefined, variables = process.env): Partial<Limits> {
  const range = { from: 1, to: 1_000_000, whole: true }
  const turns =
    numberOption("max-turns", choice["max-turns"], range) ??
    numberSetting("LONGHAUL_MAX_TURNS", variables.LONGHAUL_MAX_TURNS || undefined, range)
  const seconds = numberOption("timeout", choice.timeout, { from: 0.001, to: longestSeconds, whole: false })
  return {
    ...file?.settings.limits,
    ...(turns !== undefined && { turns }),
    ...(seconds !== undefined && { timeMs: Math.round(seconds * 1000) }),
  }
}

/** The maximum delay of a timer. */
const longestSeconds = 2_147_483

/** The invalid setting may come from the file, so the message names the file. */
function withFile({ code, message, fix, cause }: LonghaulError, path: string): LonghaulError {
  return new LonghaulError(code, `${message} (Settings come from ${path}.)`, {
    cause,
    ...(fix !== undefined && { fix }),
  })
}
