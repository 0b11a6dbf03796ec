import { resolve } from "node:path"
import { LonghaulError } from "../../contract/error.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { ContinueInput } from "../../contract/run.ts"
import type { RunState } from "../../contract/runtime.ts"
import { type Guard, type GuardChoice, guardMetadata, guardOf, recordedGuard } from "../approval/gate.ts"
import { invocation } from "../arguments.ts"
import { type ConfigChoice, readConfig } from "../config/file.ts"
import { debugLogger } from "../debug-log.ts"
import { conversationsOf, exchangesOf } from "../exchanges.ts"
import type { WatchChoice } from "../follow.ts"
import type { Output } from "../output.ts"
import { findRunId, type OpenStore, openStore, requireNamedStore } from "../read-store.ts"
import { type RunStart, recordedModel, startOf } from "../resume-and-show.ts"
import { type ExtensionChoice, recordedExtensions } from "../run-extensions.ts"
import { chosenInput, type InputChoice } from "../run-options.ts"
import { chooseModel, inputSettings, type OpenRuntime, openRuntime, type RunChoice } from "../run-settings.ts"
import { startFolder, startWorkspace } from "../start-folder.ts"
import { type ChatConversation, createConversation, type EarlierConversation } from "./conversation.ts"

export interface ChatChoice extends RunChoice, InputChoice, GuardChoice, WatchChoice, ConfigChoice {
  /** Empty: the last conversation. */
  readonly continue?: string
  readonly "run-id"?: string
  readonly workspace?: string
}

export interface OpenChat extends OpenRuntime {
  readonly conversation: ChatConversation
  /** The working directory of the tools. */
  readonly cwd: string
  /** The conversation to continue, as it was left. */
  readonly earlier?: FoundConversation | undefined
}

export interface FoundConversation {
  /** In order; at least one. */
  readonly exchanges: readonly RunState[]
  readonly last: RunState
  /** The run-start of the last exchange. */
  readonly start: RunStart | undefined
  /** The extensions of the last exchange. */
  readonly extensions?: ExtensionChoice
}

/** A new conversation, or an earlier one with its settings. `questions`: a person can answer the model. */
export async function openChat(choice: ChatChoice, output: Output, questions: boolean): Promise<OpenChat> {
  const earlier = choice.continue === undefined ? undefined : await findConversation(choice, choice.continue, output)
  // If the config file was already read for the store, its warnings were already printed.
  const file = await readConfig(choice, earlier && choice.store === undefined ? () => {} : output.complain)
  const began = earlier?.start?.input
  // Safe: metadata was checked to be JSON when the run began.
  const guard = guardOf(choice, recordedGuard(began?.metadata as JsonObject | undefined))
  const workspace = choice.workspace ?? (began && startWorkspace(began))
  const { model } = await chooseModel(choice.model ?? recordedModel(began?.model), file)
  const placed = { ...earlier?.extensions, ...choice, model, ...(workspace !== undefined && { workspace }) }
  const logger = choice.debug ? debugLogger(output) : undefined
  const opened = await openRuntime(placed, file, guard, { questions, logger, complain: output.complain })

  const { limits, ...chosen } = await chosenInput(choice, opened)
  const settings = inputSettings(choice, file)
  const metadata = guardMetadata(guard)
  const conversation = createConversation(opened.runtime, {
    model,
    settings: {
      ...settings,
      ...chosen,
      limits: { ...settings.limits, ...limits },
      ...(metadata && { metadata }),
      ...(choice["run-id"] !== undefined && { runId: choice["run-id"] }),
    },
    earlier: earlier && continued(earlier, choice, guard, { ...chosen, limits }),
  })
  const cwd = resolve(opened.workspace, chosen.cwd ?? began?.cwd ?? ".")
  return { ...opened, conversation, cwd, earlier }
}

/** The settings of the last exchange, overridden by those given now. */
function continued(
  { exchanges, start }: FoundConversation,
  choice: ChatChoice,
  guard: Guard,
  chosen: ContinueInput,
): EarlierConversation {
  // The config file was already applied when the conversation began.
  const given = inputSettings(choice, undefined)
  const limits = { ...start?.limits, ...given.limits, ...chosen.limits }
  const before = start?.tools.map(({ name }) => name) ?? []
  const { guard: _, ...metadata } = start?.input.metadata ?? {}
  const changes = {
    ...given,
    ...chosen,
    limits,
    metadata: { ...metadata, ...guardMetadata(guard) },
    ...(choice.bash && !chosen.allowedTools && { allowedTools: [...new Set([...before, "Bash"])] }),
  }
  return { exchanges, maxTurns: limits.turns ?? 100, changes }
}

async function findConversation(choice: ChatChoice, given: string, output: Output): Promise<FoundConversation> {
  const opened = await openStore(choice, output)
  requireNamedStore("continuing a conversation", opened)
  const runId =
    given === "" ? await lastConversation(opened, resolve(choice.workspace ?? ".")) : await findRunId(opened, given)
  const nodes = await exchangesOf(opened, runId, undefined)
  const exchanges = await Promise.all(nodes.map((nodeId) => opened.runtime.status(runId, nodeId)))
  const last = exchanges.at(-1)
  if (last === undefined || last.status === "not_found")
    throw new LonghaulError("not_found", `There is no run ${runId}.`)
  const extensions = await recordedExtensions(opened.runtime, last)
  return { exchanges, last, start: await startOf(opened.runtime, last), extensions }
}

/** The conversation in this folder with the newest record. */
async function lastConversation({ runtime }: OpenStore, workspace: string): Promise<string> {
  const { insidePath, realPathOf } = await import("../../hosts/node/files/confine.ts")
  const here = realPathOf(workspace)
  const all = [...conversationsOf(await runtime.runs())].sort((left, right) => right.updatedAt - left.updatedAt)
  for (const { runId, nodeId } of all) {
    const input = (await startOf(runtime, { runId, nodeId }))?.input
    if (nodeId === "main" && input && insidePath(here, realPathOf(startFolder(input))) !== undefined) return runId
  }
  throw new LonghaulError("not_found", `There is no conversation in ${workspace} yet.`, {
    fix: `Start one with: ${invocation()} chat. If it took place in another folder, name it: --continue <run>.`,
  })
}
