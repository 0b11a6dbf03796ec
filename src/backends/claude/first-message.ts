import type { CallAnswer, TurnInput } from "../../contract/backend.ts"
import type { ContentPart } from "../../contract/content.ts"

export interface FirstMessage {
  readonly content: readonly ContentPart[]
  /** The program itself presents the pending call again. The content, if any, is sent with it. */
  readonly isReplayed: boolean
}

/** What a session begins with. `brief`: what happened before it. `deferred`: the call that the program presents again. */
export function firstMessage(input: TurnInput, brief: string, deferred: string | undefined): FirstMessage {
  const before: readonly ContentPart[] = brief === "" ? [] : [text(brief)]
  if (input.kind === "prompt") return { content: [...before, ...input.content], isReplayed: false }
  const isReplayed = input.answers.some(({ call }) => call.callId === deferred)
  const others = input.answers.filter(({ call }) => call.callId !== deferred)
  const news = [...others.map((answer) => text(told(answer))), ...(input.content ?? [])]
  if (isReplayed) return { content: [...before, ...news], isReplayed }
  return { content: [...before, ...(news.length > 0 ? news : [text("Go on.")])], isReplayed }
}

/** What became of a call that the program does not present again. */
function told(answer: CallAnswer): string {
  const named = `Your call of ${answer.call.name} with ${JSON.stringify(answer.call.args)}`
  if (answer.kind !== "outcome") {
    return `${named} was approved, but has not run. Call it again with exactly the same arguments.`
  }
  const { status, output } = answer.outcome
  const shown = output.map((part) => (part.type === "text" ? part.text : `[${part.mediaType}]`)).join("\n")
  return `${named} has ended (${status}). Its output:\n${shown}`
}

function text(value: string): ContentPart {
  return { type: "text", text: value }
}
