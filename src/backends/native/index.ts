import type { Backend, HistoryOrigin, OpenRequest } from "../../contract/backend.ts"
import type { Capabilities } from "../../contract/capabilities.ts"
import type { TurnMessage } from "../../contract/compaction.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Model, Transport } from "../../contract/provider.ts"
import { newNonce } from "../../lib/id.ts"
import { defaultRetry, type RetryPolicy } from "../../lib/retry.ts"
import { retryShape } from "../../lib/schema/contract-shapes.ts"
import { checkShape, shapeOf } from "../../lib/schema/shape.ts"
import { ContextMeter } from "../shared/compaction/meter.ts"
import { Controls } from "../shared/controls.ts"
import { History } from "../shared/history.ts"
import { withOutputForm } from "../shared/output-form.ts"
import { tokensAtMost } from "../shared/token-bound.ts"
import { TurnBounds } from "../shared/turn-bounds.ts"
import { type Loop, runLoop } from "./loop.ts"

export type { RetryPolicy }

export interface NativeOptions {
  readonly retry?: Partial<RetryPolicy>
  /** Advice for a run without a model. Default: to pass one. */
  readonly noModelFix?: string
}

/** The built-in loop over any model. Its sessions exist only in the journal. */
export function native(options: NativeOptions = {}): Backend {
  checkShape<NativeOptions>("native", options, {
    retry: shapeOf<Partial<RetryPolicy>>(retryShape),
    noModelFix: "text",
  })
  return {
    name: "native",
    capabilities,
    probe: async () => ({ found: true, version: "1", login: "unknown" }),
    async open(request, env) {
      const { model, from } = request
      if (from.kind !== "history") throw sessionLost()
      if (model === undefined || typeof model === "string") {
        throw new LonghaulError("config_invalid", "The native backend needs a model.", {
          fix: options.noModelFix ?? 'Pass one, such as model: anthropic({ model: "claude-sonnet-4-6", apiKey }).',
        })
      }
      const controls = new Controls()
      if (request.context?.isAsked) controls.askToCompact()
      const promptTurn = request.context?.said.at(-1)?.turn ?? from.turns
      const system = systemOf(request, model)
      const maxOutputTokens = outputTokensOf(request, model)
      const begin = () => converse(request, model, env.transport, system, maxOutputTokens)
      let conversation = begin()
      // A client's state about a conversation, such as the ids of its calls, would otherwise grow with the run.
      const history = new History(historyOf(request, from), () => {
        conversation = begin()
      })
      const answerTokens = conversation.maxOutputTokens ?? maxOutputTokens ?? model.maxOutputTokens
      const retry = { ...defaultRetry, ...options.retry }
      return {
        ref: { backend: "native", version: "1", id: newNonce(), cwd: request.cwd, resumable: true },
        async run(input, host) {
          if (input.kind === "prompt") history.add(promptTurn, { role: "user", content: input.content })
          const fixedText = () => (system ?? "") + JSON.stringify([request.tools, request.outputSchema ?? null])
          const loop: Loop = {
            history,
            conversation: { call: (...call) => conversation.call(...call) },
            controls,
            bounds: new TurnBounds(history, () => tokensAtMost(fixedText()), answerTokens ?? CAPPED_OUTPUT_TOKENS),
            origin: `${model.provider}:${model.id}`,
            retry,
            turnsBefore: from.turns,
            host,
          }
          const { context } = request
          if (!context) return runLoop(loop)
          const meter = new ContextMeter(history, context, fixedText, answerTokens ?? USUAL_OUTPUT_TOKENS)
          const { Compactor } = await import("../shared/compaction/compactor.ts")
          const compactor = new Compactor({
            ...loop,
            // Another model, or one that has to answer in a form, cannot write a summary there.
            conversation: context.model || request.outputSchema ? undefined : loop.conversation,
            context,
            meter,
            model: context.model ?? model,
            transport: env.transport,
            instructions: context.instructions,
            canFetch: request.tools.some(({ name }) => name === "FetchData"),
          })
          return runLoop({ ...loop, compaction: { compactor, meter } })
        },
        steer: (message) => controls.steer(message),
        interrupt: (mode) => controls.interrupt(mode),
        ...(request.context && { compact: () => controls.askToCompact() }),
        close: async () => controls.interrupt("immediate"),
      }
    },
  }
}

const capabilities: Capabilities = {
  provider: "any",
  features: ["streaming", "tools", "parallel_tools", "vision", "interrupt", "structured_output"],
  models: "value",
  history: "messages",
  resume: "history",
  suspend: { ours: "settle", own: "settle" },
  steer: "turn",
  structured: "vendor",
  metering: "call",
  retries: true,
  reportsCost: false,
  ownTools: [],
  enforcement: [{ tools: "*", gate: "ours", rewrite: true, failsClosed: true, exactArguments: true, ledger: "intent" }],
  edge: true,
  contextTokens: 128_000,
  outputTokens: 8192,
  usdPer1k: { input: 0.01, output: 0.03 },
  latencyMs: 1000,
  coldStartMs: 0,
}

function sessionLost(): LonghaulError {
  return new LonghaulError("session_lost", "The native backend has no sessions of its own.", {
    fix: "Open it with the history of the run.",
  })
}

function converse(
  { tools, settings, outputSchema }: OpenRequest,
  model: Model,
  transport: Transport,
  system: string | undefined,
  maxOutputTokens: number | undefined,
) {
  return model.converse({
    tools,
    transport,
    ...(system !== undefined && { system }),
    ...settings,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(outputSchema !== undefined && { outputSchema }),
  })
}

/** The conversation before the prompt, each message with its turn. */
function historyOf({ context }: OpenRequest, { messages, turns }: HistoryOrigin): readonly TurnMessage[] {
  if (!context) return messages.map((message) => ({ turn: turns, message }))
  return context.said.slice(0, messages.length)
}

/** A model whose provider does not enforce the schema gets it in the system prompt. */
function systemOf({ system, outputSchema }: OpenRequest, model: Model): string | undefined {
  return model.enforcesSchema === true ? system : withOutputForm(system, outputSchema)
}

/**
 * If a limit is set and the maximum answer length is unknown, the answer is capped: otherwise nothing could be
 * reserved.
 */
function outputTokensOf({ settings, limits }: OpenRequest, model: Model): number | undefined {
  if (settings.maxOutputTokens !== undefined) return settings.maxOutputTokens
  return limits.reserved && model.maxOutputTokens === undefined ? CAPPED_OUTPUT_TOKENS : undefined
}

const CAPPED_OUTPUT_TOKENS = 32_000
/** Kept free for an answer whose limit is not known. */
const USUAL_OUTPUT_TOKENS = 8_192
