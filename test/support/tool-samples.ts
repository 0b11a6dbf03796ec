import type { JsonObject } from "../../src/contract/json.ts"
import type { Capability, Tool } from "../../src/contract/tool.ts"
import { toolSources } from "./all-tools.ts"

/** A call of a tool that uses files: what it does with the file at `path`, or with the folder that it is in. */
export interface Sample {
  readonly tool: string
  readonly what: string
  readonly can: readonly Capability[]
  /** What it does with other files. */
  readonly elsewhere?: readonly Capability[]
  args(path: string, folder: string): JsonObject
}

const envelope = (...lines: string[]) => ({ patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") })
const reads = ["read"] as const
const writes = ["write"] as const
const both = ["read", "write"] as const

const samples: readonly Sample[] = [
  { tool: "Read", what: "a file", can: reads, args: (path) => ({ path }) },
  { tool: "List", what: "a folder", can: reads, args: (_, path) => ({ path }) },
  { tool: "Glob", what: "a folder", can: reads, args: (_, path) => ({ pattern: "**/*", path }) },
  { tool: "Grep", what: "a file", can: reads, args: (path) => ({ pattern: ".", path }) },
  { tool: "Grep", what: "a folder", can: reads, args: (_, path) => ({ pattern: ".", path }) },
  { tool: "Write", what: "a file", can: writes, args: (path) => ({ path, content: "PLANTED" }) },
  {
    tool: "Write",
    what: "a new file",
    can: writes,
    args: (_, path) => ({ path: `${path}/a/b/new`, content: "PLANTED" }),
  },
  { tool: "Edit", what: "a file", can: both, args: (path) => ({ path, oldText: "e", newText: "PLANTED", all: true }) },
  { tool: "Edit", what: "a missing text", can: both, args: (path) => ({ path, oldText: "CANAR", newText: "PLANTED" }) },
  {
    tool: "MultiEdit",
    what: "a file",
    can: both,
    args: (path) => ({ path, edits: [{ oldText: "CANAR", newText: "x" }] }),
  },
  { tool: "NotebookEdit", what: "a file", can: both, args: (path) => ({ path, cellIndex: 0, source: "PLANTED" }) },
  {
    tool: "ApplyPatch",
    what: "a new file",
    can: writes,
    args: (_, path) => envelope(`*** Add File: ${path}/new`, "+PLANTED"),
  },
  {
    tool: "ApplyPatch",
    what: "a changed file",
    can: both,
    args: (path) => envelope(`*** Update File: ${path}`, "@@", "-CANAR", "+x"),
  },
  { tool: "ApplyPatch", what: "a removed file", can: both, args: (path) => envelope(`*** Delete File: ${path}`) },
  {
    tool: "ApplyPatch",
    what: "a file that is moved away",
    can: both,
    args: (path) => envelope(`*** Update File: ${path}`, "*** Move to: out.txt"),
  },
  {
    tool: "ApplyPatch",
    what: "a file that is moved there",
    can: writes,
    elsewhere: reads,
    args: (_, path) => envelope("*** Update File: planted.txt", `*** Move to: ${path}/new`),
  },
]

/** The tools that can read or write files, by their own declarations, with their samples. Throws if one has no sample. */
export async function fileSamples(): Promise<readonly (Sample & { readonly declared: Tool })[]> {
  const found: (Sample & { readonly declared: Tool })[] = []
  for (const tool of (await toolSources()).flatMap(([, tools]) => tools)) {
    const uses = await tool.uses?.({})
    if (uses?.read === undefined && uses?.write === undefined) continue
    const own = samples.filter((sample) => sample.tool === tool.name)
    const shown = new Set(own.flatMap(({ can }) => can))
    const missing = (["read", "write"] as const).filter((can) => uses[can] !== undefined && !shown.has(can))
    if (own.length === 0 || missing.length > 0) throw new Error(`${tool.name} needs a sample: ${missing.join(", ")}`)
    found.push(...own.map((sample) => ({ ...sample, declared: tool })))
  }
  return found
}
