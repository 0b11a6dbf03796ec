import type { UsesOf } from "../contract/tool.ts"
import { commandArguments, ifText, memberOf } from "../lib/access/arguments.ts"

/** Bash: a call with `shellId` only asks for a command that runs already. */
export const bashUses: UsesOf = (args) => {
  const command = memberOf(args, "command")
  if (command === undefined && memberOf(args, "shellId") !== undefined) return {}
  return { exec: [ifText(command)] }
}

/** The shell of another agent. */
export const shellUses: UsesOf = (args) => ({ exec: commandArguments(args) })
