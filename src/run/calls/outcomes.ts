import type { ToolCall } from "../../contract/backend.ts"
import type { ToolOutcome } from "../../contract/tool.ts"

export function denied({ name }: Pick<ToolCall, "name">, reason: string | undefined): ToolOutcome {
  const text = reason ? `${name} was denied: ${reason}` : `${name} was denied.`
  return { status: "denied", output: [{ type: "text", text }] }
}

export function notStarted({ name }: ToolCall): ToolOutcome {
  return { status: "denied", output: [{ type: "text", text: `${name} was not started: the run is being stopped.` }] }
}

/** A backend error: an effect whose call is not recorded could not be found after a crash. */
export function notOnRecord({ name }: ToolCall): ToolOutcome {
  return { status: "denied", output: [{ type: "text", text: `${name} was not started: its call is not recorded.` }] }
}

/** The journal has only a mask of an undeclared secret: the masked text must not run. */
export function withoutSecret({ name }: ToolCall): ToolOutcome {
  const text = `${name} was not run by this process: its arguments contain a secret that only an earlier process had. Check before you try again.`
  return { status: "unknown", output: [{ type: "text", text }] }
}

/** A call that its backend did not begin. */
export function notRun({ name }: ToolCall): ToolOutcome {
  const text = `${name} did not run: its backend stopped before. Call it again if it is still needed.`
  return { status: "denied", output: [{ type: "text", text }] }
}

/** A call that a person approved, and that only the model can make now. */
export function toBeRepeated({ name }: Pick<ToolCall, "name">): ToolOutcome {
  const text = `${name} was approved, but has not run yet. Call it again with exactly the same arguments.`
  return { status: "denied", output: [{ type: "text", text }] }
}

export function unknown({ name }: ToolCall): ToolOutcome {
  const text = `${name} was running when the run was stopped. It may or may not have taken effect: check before you try again.`
  return { status: "unknown", output: [{ type: "text", text }] }
}

/** The answer of a person, which is the result of a call that asks for one. */
export function answered(text: string): ToolOutcome {
  return { status: "ok", output: [{ type: "text", text }] }
}

/** The words of a person instead of an approval: the call did not run. */
export function answeredInstead({ name }: Pick<ToolCall, "name">, text: string): ToolOutcome {
  return {
    status: "denied",
    output: [{ type: "text", text: `${name} did not run. A person answered instead: ${text}` }],
  }
}
