import type { UsesOf } from "../../contract/tool.ts"
import { ifText, memberOf } from "../../lib/access/arguments.ts"

/** Policies see the URL that a call leads to, in addition to its own arguments. Its path is one of a service, not of a file. */
export const apiUses: UsesOf = (args) => ({ fetch: [ifText(memberOf(args, "url"))] })
