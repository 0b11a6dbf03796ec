import type { PolicyCall } from "../../contract/policy.ts"
import type { ReadableLine, ShellCommand } from "../shell/command-line.ts"
import { reachOf } from "../shell/reach.ts"
import { refusesUse } from "./compile-rule.ts"
import { absolutePath } from "./path-pattern.ts"
import { refusalsOf } from "./path-refusals.ts"
import type { ToolRules } from "./rule-index.ts"
import type { DecisionContext } from "./step.ts"

/**
 * Why a command has to be asked about although its words name nothing that is refused: it reads or changes everything below a folder that
 * holds something refused, or an option makes it start other programs. A sandbox that hides such paths needs no question.
 */
export async function whyAskReach(
  call: PolicyCall,
  command: ShellCommand,
  { changesFolder }: ReadableLine,
  rules: ToolRules,
  context: DecisionContext,
): Promise<string | undefined> {
  if (!context.refuses || call.hidesRefused === true) return undefined
  const { below, changes, starts } = reachOf(command)
  if (starts && rules.all.some(({ verdict, condition }) => verdict !== "allow" && condition.commands !== undefined)) {
    return "An option of it can start other programs, and a rule refuses some."
  }
  if (starts && (await holdsRefused(call, [call.workspace], ["read", "write"], context))) {
    return "An option of it can start other programs, which could use a path that a rule refuses."
  }
  const placed = (paths: readonly string[]) =>
    paths.map((path) => (changesFolder && !path.startsWith("/") ? call.workspace : absolutePath(call.cwd, path)))
  if (await holdsRefused(call, placed(below), ["read"], context)) {
    return "It reads everything below a folder in which a rule refuses something."
  }
  if (!(await holdsRefused(call, placed(changes), ["write"], context))) return undefined
  return "It changes everything below a folder in which a rule refuses something."
}

/** Only what exists counts, as far as that can be seen. */
async function holdsRefused(
  call: PolicyCall,
  places: readonly string[],
  accesses: readonly ("read" | "write")[],
  context: DecisionContext,
): Promise<boolean> {
  if (places.length === 0) return false
  if (!context.rulesOf(call).all.some((rule) => accesses.some((can) => refusesUse(rule, can)))) return false
  const refusals = await refusalsOf(context, call, { verdict: undefined, asked: [] })
  if (refusals === undefined) return false
  const refuses = (path: string) => accesses.some((access) => refusals.beginsAt(path, access))
  const folders = places.flatMap((path) => (refusals.mayBeginBelow(path) || refuses(path) ? [path] : []))
  const { listFolder } = context
  if (listFolder === undefined) return folders.length > 0
  let left = mostEntries
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    if (refuses(folder)) return true
    for (const { name, kind } of await listFolder(folder).catch(() => [])) {
      const path = `${folder === "/" ? "" : folder}/${name}`
      if (refuses(path) || --left === 0) return true
      if (kind === "folder" && refusals.mayBeginBelow(path)) folders.push(path)
    }
  }
  return false
}

const mostEntries = 50_000
