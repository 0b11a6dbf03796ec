import type { RunResult, Usage } from "../../contract/result.ts"
import type { ContinueInput, RunHandle, RunInput } from "../../contract/run.ts"
import type { RunState, Runtime } from "../../contract/runtime.ts"
import { namedModel } from "../../hosts/node/model-names.ts"
import { addUsage, noUsage } from "../../lib/usage.ts"

/** One run; each exchange is a node that continues from the exchanges before it. */
export interface ChatConversation {
  readonly runtime: Runtime
  /** Absent until the first message. */
  readonly runId: string | undefined
  /** The model for the next exchange. */
  readonly model: string
  /** Model calls since the conversation began. */
  readonly turns: number
  /** Turn limit of each exchange. */
  readonly maxTurns: number
  /** All conversations of this session, including earlier ones. */
  readonly spent: readonly Spent[]
  /** Starts the next exchange. Rejects if the last one is paused or running elsewhere. */
  say(text: string): Promise<RunHandle>
  /** Adds the usage of an exchange so far. */
  remember(result: RunResult): void
  /** Makes the next message start a new conversation. */
  forget(): void
  /** Throws `config_invalid` if the model is unknown. */
  use(model: string): void
}

/** Usage of one conversation. */
export interface Spent {
  readonly runId: string
  readonly turns: number
  readonly usage: Usage
}

export interface ConversationOptions {
  readonly model: string
  /** Settings of a new conversation, apart from its first message. */
  readonly settings: Omit<RunInput, "task" | "messages">
  readonly earlier?: EarlierConversation | undefined
}

/** A conversation of another process that continues here. */
export interface EarlierConversation {
  readonly exchanges: readonly RunState[]
  /** Turn limit of each exchange. */
  readonly maxTurns: number
  /** Differences between the next exchange and the last. */
  readonly changes: ContinueInput
}

export function createConversation(runtime: Runtime, options: ConversationOptions): ChatConversation {
  const { settings, earlier } = options
  const limits = { ...settings.limits, turns: settings.limits?.turns ?? 100 }
  /** Keyed by exchange, so that a resumed exchange is counted once. */
  const taken = new Map<string, Spent>()
  let { model } = options
  let chosenModel: { readonly model?: string } = {}
  let first: typeof settings = { ...settings, limits }
  let changes: ContinueInput = earlier?.changes ?? {}
  let maxTurns = earlier?.maxTurns ?? limits.turns
  let runId = earlier?.exchanges[0]?.runId

  function count({ runId, nodeId, turns, usage }: RunState): void {
    taken.set(`${runId}/${nodeId}`, { runId, turns, usage })
  }
  function spentOn(id: string): Spent {
    const exchanges = Array.from(taken.values()).filter((each) => each.runId === id)
    return exchanges.reduce(
      (sum, { turns, usage }) => ({ runId: id, turns: sum.turns + turns, usage: addUsage(sum.usage, usage) }),
      { runId: id, turns: 0, usage: noUsage },
    )
  }
  for (const exchange of earlier?.exchanges ?? []) count(exchange)

  return {
    runtime,
    get runId() {
      return runId
    },
    get model() {
      return model
    },
    get turns() {
      return runId === undefined ? 0 : spentOn(runId).turns
    },
    get maxTurns() {
      return maxTurns
    },
    get spent() {
      return [...new Set(Array.from(taken.values(), (each) => each.runId))].map(spentOn)
    },
    say: async (text) =>
      runId === undefined
        ? runtime.stream({ ...first, ...chosenModel, task: text })
        : runtime.continueStream(runId, text, { ...changes, ...chosenModel }),
    remember(result) {
      count(result)
      // A run that could not start has no journal.
      if (result.transcript.lastShard < 0) return
      runId = result.runId
      changes = {}
    },
    forget() {
      const { runId: _, attachments: __, ...others } = first
      first = others
      maxTurns = limits.turns
      runId = undefined
    },
    use(name) {
      namedModel(name, process.env)
      model = name
      chosenModel = { model: name }
    },
  }
}
