import type { Json } from "../../contract/json.ts"
import type { InnerCall, Tool } from "../../contract/tool.ts"

/** Undefined also where there is no such inner tool: the validation of the call reports that. */
export function innerOf(tool: Tool, args: Json): InnerCall | undefined {
  try {
    return tool.inner?.(args)
  } catch {
    return undefined
  }
}

/** What becomes of a call whose outcome is unknown: its inner tool knows better than the tool that calls it. */
export function unknownOutcomeOf(tool: Tool | undefined, args: Json): Tool["unknownOutcome"] {
  return (tool && innerOf(tool, args)?.tool.unknownOutcome) ?? tool?.unknownOutcome
}
