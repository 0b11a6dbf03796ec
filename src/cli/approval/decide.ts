import { createInterface } from "node:readline/promises"
import { LonghaulError } from "../../contract/error.ts"
import type { PendingToolCall } from "../../contract/result.ts"
import { invocation } from "../arguments.ts"
import { visible } from "../format.ts"
import type { FoundRun } from "../go-on.ts"
import type { Output } from "../output.ts"

/** The call that a decision is about. With a ticket it must be that one. */
export function pendingCall({ state }: FoundRun, ticket: string | undefined): PendingToolCall {
  const pending = state.pause?.pendingToolCall
  if (!pending) {
    throw new LonghaulError("invalid_state", `Run ${state.runId} waits for no decision: it is ${state.status}.`, {
      fix: `Look at it with: ${invocation()} show ${state.runId}.`,
    })
  }
  if (ticket === undefined || ticket === pending.ticket) return pending
  throw new LonghaulError("approval_stale", "The ticket is of a question that is no longer open.", {
    fix: `See what the run waits for now with: ${invocation()} show ${state.runId}.`,
  })
}

/** What is decided about, whole: nobody should approve what they have not seen. */
export function showCall({ name, args, question }: PendingToolCall, output: Output): void {
  const { colours } = output
  output.print(`${colours.bold(visible(name))}  ${colours.dim(visible(question))}`)
  output.print(visible(JSON.stringify(args, null, 2)))
}

/** On a terminal a person is asked; where nobody sits, the command itself is the word. */
export async function confirmed(question: string, output: Output): Promise<boolean> {
  if (!process.stdin.isTTY || !output.stdout.isTTY) return true
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim())
  } finally {
    lines.close()
  }
}
