import type { Json } from "../../contract/json.ts"
import type { UsesOf } from "../../contract/tool.ts"
import { memberOf, startArguments } from "../../lib/access/arguments.ts"

/** List and Grep. */
export const searchUses: UsesOf = (args) => ({ read: startArguments(args), below: true })

export const globUses: UsesOf = (args) => ({
  read: [...startArguments(args), ...startOfPattern(memberOf(args, "pattern"))],
  below: true,
})

/** Our Glob stays in its folder; in other frameworks a pattern can leave it. */
function startOfPattern(pattern: Json | undefined): readonly (string | undefined)[] {
  if (typeof pattern !== "string") return []
  // One of several alternatives, or a class of characters, may leave it: where to is unknown.
  if (/[{,(|][/~]|[{,(|/]\.\.[},)|]|\[[./~]/.test(pattern) || /[{,(|]\.\.\//.test(pattern)) return [undefined]
  if (!/^[/~]|(^|\/)\.\.(\/|$)/.test(pattern)) return []
  return [/^[^*?[{]*(?=\/|$)/.exec(pattern)?.[0] || "/"]
}
