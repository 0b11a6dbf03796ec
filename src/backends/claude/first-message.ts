import type { TurnInput } from "../../contract/backend.ts"
import type { ContentPart } from "../../contract/content.ts"
import { answerText } from "../shared/call-answers.ts"

export interface FirstMessage {
  readonly content: readonly ContentPart[]
  /** The program itself presents the pending call again. The content, if any, is sent with it. */
  readonly isReplayed: boolean
}

/** The first message of a session. `brief`: what happened before it. `deferred`: the call that the program presents again. */
export function firstMessage(input: TurnInput, brief: string, deferred: string | undefined): FirstMessage {
  const before: readonly ContentPart[] = brief === "" ? [] : [text(brief)]
  if (input.kind === "prompt") return { content: [...before, ...input.content], isReplayed: false }
  const isReplayed = input.answers.some(({ call }) => call.callId === deferred)
  const others = input.answers.filter(({ call }) => call.callId !== deferred)
  const news = [...others.map((answer) => text(answerText(answer))), ...(input.content ?? [])]
  if (isReplayed) return { content: [...before, ...news], isReplayed }
  return { content: [...before, ...(news.length > 0 ? news : [text("Go on.")])], isReplayed }
}

function text(value: string): ContentPart {
  return { type: "text", text: value }
}
