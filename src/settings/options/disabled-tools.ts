import { LonghaulError } from "../../contract/error.ts"
import { shown } from "../../lib/known-keys.ts"
import { meantTool } from "../../policy/rules/check-rule.ts"
import { builtInTools } from "../../policy/rules/known-tools.ts"

/** Throws for names in `disabledTools` that would disable nothing: patterns and misspelt ones. `known`: tools in addition to the built-in ones. */
export function checkDisabled(disabledTools: readonly string[] = [], known: readonly string[]): void {
  for (const name of disabledTools) {
    if (builtInTools.includes(name) || known.includes(name)) continue
    const meant = meantTool(name, known)
    if (meant === undefined && !name.includes("*")) continue
    throw new LonghaulError("config_invalid", `disabledTools names ${shown(name)}, which is not a tool.`, {
      fix: meant === undefined ? "Name each tool, or deny them by a rule of the policy." : `Did you mean ${meant}?`,
    })
  }
}
