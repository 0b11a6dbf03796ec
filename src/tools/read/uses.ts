import type { UsesOf } from "../../contract/tool.ts"
import { pathArguments } from "../../lib/access/arguments.ts"

export const readUses: UsesOf = (args) => ({ read: pathArguments(args) })
