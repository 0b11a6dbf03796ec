import { createInterface } from "node:readline/promises"
import { LonghaulError } from "../../contract/error.ts"
import type { PendingToolCall } from "../../contract/result.ts"
import { invocation } from "../arguments.ts"
import { visible } from "../format.ts"
import type { Output } from "../output.ts"
import type { FoundRun } from "../resume-and-show.ts"

/** The call that a decision applies to. A ticket must match it. */
export function pendingCall({ state }: FoundRun, ticket: string | undefined): PendingToolCall {
  const pending = state.pause?.pendingToolCall
  if (!pending) {
    throw new LonghaulError(
      "invalid_state",
      `Run ${state.runId} is not waiting for a decision: it is ${state.status}.`,
      {
        fix: `Inspect it with: ${invocation()} show ${state.runId}.`,
      },
    )
  }
  if (ticket === undefined || ticket === pending.ticket) return pending
  throw new LonghaulError("approval_stale", "The ticket belongs to a question that is no longer open.", {
    fix: `See what the run is waiting for with: ${invocation()} show ${state.runId}.`,
  })
}

/** Shows the whole call: a person must not approve something they have not seen. */
export function showCall({ name, args, question }: PendingToolCall, output: Output): void {
  const { colours } = output
  output.print(`${colours.bold(visible(name))}  ${colours.dim(visible(question))}`)
  output.print(visible(JSON.stringify(args, null, 2)))
}

/** On a terminal the person is asked to confirm; without a terminal, the command itself is the decision. */
export async function confirmed(question: string, output: Output): Promise<boolean> {
  if (!process.stdin.isTTY || !output.stdout.isTTY) return true
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim())
  } finally {
    lines.close()
  }
}
