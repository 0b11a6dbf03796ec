import type { Json } from "../../contract/json.ts"
import type { InnerCall, Tool, ToolContext } from "../../contract/tool.ts"

/** Undefined also where there is no such inner tool: the validation of the call reports that. */
export function innerOf(tool: Tool, args: Json): InnerCall | undefined {
  try {
    return tool.inner?.(args)
  } catch {
    return undefined
  }
}

/** The tool whose properties a call has: the inner one, if its tool calls others. */
export function actingTool(tool: Tool, args: Json): Tool {
  return innerOf(tool, args)?.tool ?? tool
}

/** Returns how a tool resumes a call that an earlier process began. Undefined: neither its tool nor the inner one can. */
export function resumeOf(tool: Tool, args: unknown): ((context: ToolContext) => unknown) | undefined {
  if (tool.resume !== undefined) return (context) => tool.resume?.(args, context)
  if (tool.inner === undefined || tool.validate !== undefined) return undefined
  // Safe: a tool without a validation of its own gets JSON.
  const inner = innerOf(tool, args as Json)
  if (inner?.tool.resume === undefined) return undefined
  return (context) => inner.tool.resume?.(inner.args, context)
}

/** The treatment of a call whose outcome is unknown: its inner tool's setting precedes that of the tool that calls it. */
export function unknownOutcomeOf(tool: Tool | undefined, args: Json): Tool["unknownOutcome"] {
  return (tool && innerOf(tool, args)?.tool.unknownOutcome) ?? tool?.unknownOutcome
}
