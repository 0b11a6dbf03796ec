import type { CallAnswer } from "../../contract/backend.ts"
import { plainText } from "../../lib/content.ts"

/** The outcome of a call, as a message to a model whose program does not take the result itself. */
export function answerText(answer: CallAnswer): string {
  const { call } = answer
  const named = `Your call of ${call.name} with ${JSON.stringify(call.args)}`
  if (answer.kind !== "outcome") {
    return `${named} was approved, but has not run. Call it again with exactly the same arguments.`
  }
  const { status, output } = answer.outcome
  return `${named} has ended (${status}). Its output:\n${plainText(output, "\n")}`
}
