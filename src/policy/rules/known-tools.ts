import type { PolicyCall } from "../../contract/policy.ts"
import type { Capability, Uses, UsesOf } from "../../contract/tool.ts"
import { apiUses } from "../../extensions/api/uses.ts"
import { anyPathArguments, folderArguments, ifText, memberOf, usesNothing } from "../../lib/access/arguments.ts"
import { editUses, writeUses } from "../../tools/edit/uses.ts"
import { globUses, searchUses } from "../../tools/find/uses.ts"
import { patchUses } from "../../tools/patch/uses.ts"
import { readUses } from "../../tools/read/uses.ts"
import { bashUses, shellUses } from "../../tools/uses.ts"
import { fetchUses, webSearchUses } from "../../tools/web/uses.ts"

/**
 * The declarations of the tools of the library, by name: for calls of other software, of which only the name and the arguments are known,
 * and to check rules. A test compares it with the tools.
 */
export const knownTools: ReadonlyMap<string, UsesOf> = new Map<string, UsesOf>([
  ["Read", readUses],
  ["List", searchUses],
  ["Glob", globUses],
  ["Grep", searchUses],
  ["Write", writeUses],
  ["Edit", editUses],
  ["MultiEdit", editUses],
  ["ApplyPatch", patchUses],
  ["NotebookEdit", editUses],
  ["Bash", bashUses],
  ["WebFetch", fetchUses],
  ["WebSearch", webSearchUses],
  ["ApiCall", apiUses],
  ...["AskUser", "Sleep", "FetchData", "ToolSearch", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"].map(
    (name): [string, UsesOf] => [name, usesNothing],
  ),
])

/** Tools that show what the host has attached to a run: memory, skills, resources of MCP servers, knowledge. */
export const attachedReaders: readonly string[] = [
  "Recall",
  "SkillPage",
  "ListMcpResources",
  "ReadMcpResource",
  "SearchKnowledge",
  "ReadKnowledge",
]

/** All names. What a tool of other software with one of the last names does is unknown. */
export const builtInTools: readonly string[] = [
  ...knownTools.keys(),
  ...attachedReaders,
  ...["Memorize", "ApiSearch", "CallTool", "Agent", "SendMessage"],
]

/** The tools that show what is in files, and those that change them. */
export const readers: readonly string[] = ["Read", "List", "Glob", "Grep"]
export const writers: readonly string[] = ["Write", "Edit", "MultiEdit", "ApplyPatch", "NotebookEdit"]

/** The value of an argument that rules compare. Undefined: it is there, but it is not a text. */
export type Part = string | undefined

/** The use of one call. `isKnown` false: only the names of its arguments show it, and what it does with a path is unknown. */
export interface CallUses extends Uses {
  readonly isKnown: boolean
  /** The paths of a call whose use is unknown. */
  readonly paths: readonly Part[]
  /** The folders in which its command lines run, other than the one of the call. */
  readonly folders?: readonly Part[]
}

export async function usesOf({ tool, args, isShell, ...declared }: Declared): Promise<CallUses> {
  const uses = declared.uses ?? knownTools.get(tool) ?? (isShell === true ? shellUses : undefined)
  if (uses) {
    const folders = isShell === true || tool === "Bash" ? folderArguments(args) : []
    return { ...(await uses(args)), isKnown: true, paths: [], ...(folders.length > 0 && { folders }) }
  }
  const [url, command] = [memberOf(args, "url"), memberOf(args, "command")]
  return {
    isKnown: false,
    paths: anyPathArguments(args),
    ...(url !== undefined && { fetch: [ifText(url)] }),
    ...(command !== undefined && { exec: [ifText(command)] }),
  }
}

type Declared = Pick<PolicyCall, "tool" | "args" | "uses" | "isShell">

export const capabilities: readonly Capability[] = ["read", "write", "exec", "fetch"]

/** The capabilities that calls of the known tools can have. Others can have any. */
export const allCapabilities: ReadonlyMap<string, readonly Capability[]> = new Map(
  Array.from(knownTools, ([tool, declared]) => {
    const uses = declared({})
    if (uses instanceof Promise) throw new Error(`${tool} must declare at once what it can do without arguments.`)
    return [tool, capabilities.filter((each) => uses[each] !== undefined)]
  }),
)
