import type { Json } from "../../contract/json.ts"
import { isJsonObject } from "../../lib/json.ts"

/** The tools of the library, with the arguments that rules understand. Other tools have an unknown shape. */
export const builtInTools: readonly string[] = [
  "Read",
  "List",
  "Glob",
  "Grep",
  "Write",
  "Edit",
  "MultiEdit",
  "ApplyPatch",
  "NotebookEdit",
  "Bash",
  "WebFetch",
  "WebSearch",
  "ApiCall",
  "AskUser",
  "Sleep",
  "FetchData",
  "ToolSearch",
  "TaskCreate",
  "TaskGet",
  "TaskList",
  "TaskUpdate",
]

export const readers: readonly string[] = ["Read", "List", "Glob", "Grep"]
export const writers: readonly string[] = ["Write", "Edit", "MultiEdit", "ApplyPatch", "NotebookEdit"]
/** They start at a folder and show what is below it. */
export const searchers: readonly string[] = ["List", "Glob", "Grep"]

/** Whether rules can match a part of a tool's calls. Tools of unknown shape may have any part. */
export function hasPart(tool: string, part: "command" | "path" | "url"): boolean {
  if (!builtInTools.includes(tool)) return true
  if (part === "command") return tool === "Bash"
  if (part === "url") return tool === "WebFetch" || tool === "ApiCall"
  return tool === "Bash" || readers.includes(tool) || writers.includes(tool)
}

/** The values of a call that rules match. Undefined in place of a text: the value is not one. */
export type Part = string | undefined

/** The paths that a call reads or writes. The parser of patches is loaded when it is needed. */
export async function pathsIn(tool: string, args: Json): Promise<readonly Part[]> {
  // Its path is one of a service, not of a file.
  if (tool === "ApiCall") return []
  if (tool === "ApplyPatch") return patchPaths(memberOf(args, "patch"))
  const names = builtInTools.includes(tool) ? pathNames : [...pathNames, ...otherPathNames]
  const given = names.flatMap((name) => {
    const value = memberOf(args, name)
    return value === undefined ? [] : Array.isArray(value) && value.length > 0 ? value.map(textOf) : [textOf(value)]
  })
  if (given.length === 0 && searchers.includes(tool)) given.push(".")
  return tool === "Glob" ? [...given, ...startOfGlob(memberOf(args, "pattern"))] : given
}

export function urlsIn(args: Json): readonly Part[] {
  const url = memberOf(args, "url")
  return url === undefined ? [] : [textOf(url)]
}

/** The command line of a call; null if it is not a text. */
export function commandIn(args: Json): string | null | undefined {
  const command = memberOf(args, "command")
  return command === undefined ? undefined : (textOf(command) ?? null)
}

/** Other frameworks name the argument differently. */
const pathNames = ["path", "file_path", "filePath", "notebook_path"]
/** Used by tools of unknown shape. */
const otherPathNames = ["paths", "file", "files", "filename", "source", "destination", "directory", "folder", "uri"]

/** Our Glob stays in its folder; in other frameworks a pattern can leave it. */
function startOfGlob(pattern: Json | undefined): readonly Part[] {
  if (typeof pattern !== "string") return []
  // One of several alternatives, or a class of characters, may leave it: where to is unknown.
  if (/[{,(|][/~]|[{,(|/]\.\.[},)|]|\[[./~]/.test(pattern) || /[{,(|]\.\.\//.test(pattern)) return [undefined]
  if (!/^[/~]|(^|\/)\.\.(\/|$)/.test(pattern)) return []
  return [/^[^*?[{]*(?=\/|$)/.exec(pattern)?.[0] || "/"]
}

async function patchPaths(patch: Json | undefined): Promise<readonly Part[]> {
  if (typeof patch !== "string") return [undefined]
  const { parsePatch } = await import("../../lib/patch/parse-patch.ts")
  try {
    return parsePatch(patch).flatMap((file) => {
      if (file.kind !== "update") return [file.path]
      const { path, otherPath, moveTo } = file
      return [path, ...(otherPath === undefined ? [] : [otherPath]), ...(moveTo === undefined ? [] : [moveTo])]
    })
  } catch {
    // The tool cannot read it either.
    return [undefined]
  }
}

function memberOf(args: Json, name: string): Json | undefined {
  return isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined
}

function textOf(value: Json | undefined): Part {
  return typeof value === "string" ? value : undefined
}
