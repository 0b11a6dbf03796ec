import type { UsesOf } from "../../contract/tool.ts"
import { ifText, memberOf } from "../../lib/access/arguments.ts"

export const fetchUses: UsesOf = (args) => ({ fetch: [ifText(memberOf(args, "url"))] })

/** The host chose the engine: a rule for a site does not apply to it, a rule for every site does. */
export const webSearchUses: UsesOf = () => ({ fetch: ["https://search.invalid/"] })
