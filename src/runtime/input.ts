import { LonghaulError } from "../contract/error.ts"
import type { JsonObject } from "../contract/json.ts"
import type { Message } from "../contract/message.ts"
import type { Model } from "../contract/provider.ts"
import type { Limits } from "../contract/result.ts"
import type { RunInput } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { checkedId, newRunId } from "../lib/id.ts"
import { createDispatcher, type Dispatcher } from "../tools/dispatch.ts"
import { keys, type ResolvedConfig, refuseUnknownKeys, resolveLimits } from "./config.ts"

/** What a run was asked, checked, with everything that its runtime gives it. */
export interface CheckedInput {
  readonly messages: readonly Message[]
  readonly system?: string
  readonly model?: Model
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly dispatcher: Dispatcher
  readonly limits: Limits
  readonly cwd: string
  readonly metadata?: JsonObject
}

export function runKey(config: ResolvedConfig, input: RunInput): RunKey {
  return { workspaceId: config.workspaceId, runId: input.runId ?? newRunId(), nodeId: input.nodeId ?? "main" }
}

export function checkInput(config: ResolvedConfig, key: RunKey, input: RunInput): CheckedInput {
  refuseUnknownKeys("run", input, inputKeys)
  checkedId("runId", key.runId)
  checkedId("nodeId", key.nodeId)
  const messages = messagesOf(input)
  const { system, temperature, maxOutputTokens, metadata } = input
  const model = input.model === undefined ? config.model : config.resolveModel(input.model)
  return {
    messages,
    ...(system !== undefined && { system }),
    ...(model && { model }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    dispatcher: dispatcherOf(config, input),
    limits: resolveLimits(input.limits, config.limits),
    cwd: input.cwd ?? config.workspace,
    ...(metadata && { metadata }),
  }
}

function messagesOf(input: RunInput): readonly Message[] {
  const given = input.messages ?? []
  const task: unknown = input.task
  if (task === undefined && given.length > 0) return given
  if (typeof task === "string" && task.trim() !== "")
    return [...given, { role: "user", content: [{ type: "text", text: task }] }]
  throw new LonghaulError("config_invalid", "The run has nothing to do.", { fix: "Pass a task, or messages." })
}

function dispatcherOf(config: ResolvedConfig, input: RunInput): Dispatcher {
  if (!input.tools) return config.dispatcher
  const { disabledTools: disabled, logger } = config
  return createDispatcher([...config.tools, ...input.tools], { disabled, ...(logger && { logger }) })
}

const inputKeys = keys<RunInput>()(
  "task",
  "messages",
  "runId",
  "nodeId",
  "system",
  "model",
  "temperature",
  "maxOutputTokens",
  "tools",
  "limits",
  "signal",
  "cwd",
  "metadata",
  "onEvent",
)
