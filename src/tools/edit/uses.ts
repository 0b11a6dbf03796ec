import type { UsesOf } from "../../contract/tool.ts"
import { pathArguments } from "../../lib/access/arguments.ts"

export const writeUses: UsesOf = (args) => ({ write: pathArguments(args) })

/** An edit reveals what the file contains, if only by failing. */
export const editUses: UsesOf = (args) => ({ read: pathArguments(args), write: pathArguments(args) })
