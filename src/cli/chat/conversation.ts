import type { RunResult, Usage } from "../../contract/result.ts"
import type { ContinueInput, RunHandle, RunInput, RunState, Runtime } from "../../contract/run.ts"
import { namedModel } from "../../hosts/node/model-names.ts"
import { addUsage, noUsage } from "../../lib/usage.ts"

/** One run, each exchange a node of it that knows what was said in those before. */
export interface Conversation {
  readonly runtime: Runtime
  /** Absent until something was said. */
  readonly runId: string | undefined
  /** The name of the model that is asked next. */
  readonly model: string
  /** Model calls since it began. */
  readonly turns: number
  /** The most model calls of each exchange. */
  readonly maxTurns: number
  /** Every conversation of this session, the ones before it too. */
  readonly spent: readonly Spent[]
  /** The next exchange. Rejects where there can be none: the last one is paused, or under way elsewhere. */
  say(text: string): Promise<RunHandle>
  /** Counts what an exchange took so far. */
  remember(result: RunResult): void
  /** Begins another one with the next message. */
  forget(): void
  /** Throws `config_invalid` where there is no such model. */
  use(model: string): void
}

/** What one conversation took. */
export interface Spent {
  readonly runId: string
  readonly turns: number
  readonly usage: Usage
}

export interface ConversationOptions {
  readonly model: string
  /** What a new conversation begins with, beside its first message. */
  readonly settings: Omit<RunInput, "task" | "messages">
  readonly earlier?: EarlierConversation
}

/** A conversation of another process that goes on here. */
export interface EarlierConversation {
  readonly exchanges: readonly RunState[]
  /** The most model calls of each exchange. */
  readonly maxTurns: number
  /** How the next exchange differs from the last. */
  readonly changes: ContinueInput
}

export function createConversation(runtime: Runtime, options: ConversationOptions): Conversation {
  const { settings, earlier } = options
  const limits = { ...settings.limits, turns: settings.limits?.turns ?? 100 }
  /** By exchange: one that was resumed is counted once. */
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
      // A run that could not begin has no journal: nothing was said.
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
