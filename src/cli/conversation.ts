import type { Message } from "../contract/message.ts"
import type { RunResult, Usage } from "../contract/result.ts"
import type { RunHandle, Runtime } from "../contract/run.ts"
import { RunProjection } from "../journal/projection.ts"
import type { inputSettings } from "./run-settings.ts"

/** A row of runs, each of which knows what was said in those before it. */
export interface Conversation {
  /** The name of the model that is asked next. */
  readonly model: string
  /** Model calls since it began, or was forgotten. */
  readonly turns: number
  /** The most model calls of each run. */
  readonly maxTurns: number
  /** Every run so far, whether it is remembered or not. */
  readonly spent: readonly Spent[]
  say(text: string): RunHandle
  /** Takes what was said from the journal of a run that is over. */
  remember(result: RunResult): Promise<void>
  forget(): void
  /** Throws `config_invalid` where there is no such model. */
  use(model: string): void
}

export interface Spent {
  readonly runId: string
  readonly turns: number
  readonly usage: Usage
}

export function createConversation(
  first: Runtime,
  firstModel: string,
  settings: ReturnType<typeof inputSettings>,
): Conversation {
  const maxTurns = settings.limits?.turns ?? 100
  const limits = { ...settings.limits, turns: maxTurns }
  const spent: Spent[] = []
  let runtime = first
  let model = firstModel
  let messages: readonly Message[] = []
  let turns = 0

  return {
    maxTurns,
    spent,
    get model() {
      return model
    },
    get turns() {
      return turns
    },
    say: (text) => runtime.stream({ ...settings, task: text, messages, limits }),
    async remember(result) {
      const { runId, usage } = result
      turns += result.turns
      spent.push({ runId, turns: result.turns, usage })
      // A run that could not begin has no journal, and nothing was said.
      if (result.transcript.lastShard < 0) return
      const projection = new RunProjection()
      for await (const record of runtime.events(runId)) projection.apply(record)
      messages = projection.messages
    },
    forget() {
      messages = []
      turns = 0
    },
    use(name) {
      runtime = runtime.with({ model: name })
      model = name
    },
  }
}
