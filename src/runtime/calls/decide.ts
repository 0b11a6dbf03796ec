import type { ToolCall } from "../../contract/backend.ts"
import type { HookedCall, HookedRun } from "../../contract/hooks.ts"
import type { Json } from "../../contract/json.ts"
import type { AskReason } from "../../contract/result.ts"
import type { Tool } from "../../contract/tool.ts"
import type { OpenRun } from "../open-run.ts"

/** The decision about one call. `ask`: a person has to answer the question first. */
export type Verdict =
  | { readonly kind: "allow" }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "ask"; readonly reason: AskReason; readonly question: string }

/** True where `decide` would allow every call of a tool, whatever its arguments. */
export function allowsAtOnce({ hooks, input }: OpenRun, name: string): boolean {
  return !hooks.has("gateBeforeTool") && input.dispatcher.tool(name)?.question === undefined
}

/** Decides whether a call may run. A gate that fails denies it. `edited`: a person has changed the arguments. */
export async function decide({ hooks, input }: OpenRun, call: ToolCall, edited = false): Promise<Verdict> {
  const question = call.invalid === undefined ? questionOf(input.dispatcher.tool(call.name), call.args) : undefined
  if (question !== undefined) return { kind: "ask", reason: "input", question }
  if (!hooks.has("gateBeforeTool")) return { kind: "allow" }
  const gate = await hooks.call("gateBeforeTool", (hook, run) =>
    hook.gateBeforeTool?.({ ...hookedCall(run, call), edited }),
  )
  if (gate?.allow === true) return { kind: "allow" }
  if (gate?.allow === false) return { kind: "ask", reason: "approval", question: String(gate.reason) }
  return { kind: "deny", reason: `${call.name} was not started: the approval gate failed.` }
}

export function hookedCall(run: HookedRun, { callId, name, args }: ToolCall): HookedCall {
  return { ...run, callId, name, args }
}

/** Undefined also where `question` throws: the arguments do not fit the tool, and its validation reports that. */
function questionOf(tool: Tool | undefined, args: Json): string | undefined {
  try {
    return tool?.question?.(args)
  } catch {
    return undefined
  }
}
