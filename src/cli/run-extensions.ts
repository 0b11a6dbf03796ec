import { realpathSync } from "node:fs"
import { basename } from "node:path"
import type { Extension } from "../contract/extension.ts"
import type { RunReference } from "../contract/run.ts"
import type { Runtime } from "../contract/runtime.ts"
import { isJsonObject } from "../lib/json.ts"
import { sha256 } from "../lib/sha256.ts"
import { type OptionTable, UsageError } from "./arguments.ts"
import type { FileSettings } from "./config/settings.ts"

const memoryModes = ["off", "read-only", "read-write"] as const
type MemoryMode = (typeof memoryModes)[number]

/** Options of every command that begins a run. */
export const extensionOptions = {
  skills: {
    type: "boolean",
    help: "Trust the skills in the workspace and in your home, and offer them. See the command skills.",
  },
  memory: {
    type: "string",
    value: "<mode>",
    values: memoryModes,
    help: "Memory of the workspace: off (default), read-only or read-write. See the command memory.",
  },
  knowledge: { type: "boolean", help: "Let the model search the knowledge bases. See the command knowledge." },
  "no-agents-md": { type: "boolean", help: "Do not give the AGENTS.md files of the workspace to the model." },
} as const satisfies OptionTable

/** As given on the command line. */
export interface ExtensionChoice {
  readonly skills?: boolean
  readonly memory?: string
  readonly knowledge?: boolean
  readonly "no-agents-md"?: boolean
}

export interface ChosenExtensions {
  readonly extensions: readonly Extension[]
  /** The names that their tools may have. */
  readonly toolNames: readonly string[]
}

/** `readsOnly`: the run changes nothing. `hasOwnFiles`: its backend reads AGENTS.md itself. */
export async function chosenExtensions(
  choice: ExtensionChoice,
  settings: Pick<FileSettings, "skills" | "memory" | "agentsMd">,
  workspace: string,
  { readsOnly, hasOwnFiles }: { readonly readsOnly: boolean; readonly hasOwnFiles: boolean },
): Promise<ChosenExtensions> {
  const chosen = modeOf(choice.memory ?? settings.memory ?? "off")
  const mode = readsOnly && chosen === "read-write" ? "read-only" : chosen
  const extensions: Extension[] = []
  const toolNames: string[] = []
  if (!(choice["no-agents-md"] ?? settings.agentsMd === false) && !hasOwnFiles) {
    const { agentsMd } = await import("../extensions/agents-md/index.ts")
    extensions.push(agentsMd())
  }
  if (choice.skills ?? settings.skills) {
    const { skillFolders, skills } = await import("../extensions/skills/index.ts")
    const { userSkillFolders } = await import("../hosts/node/skill-folders.ts")
    extensions.push(skills({ folders: [...skillFolders, ...userSkillFolders()] }))
    toolNames.push("SkillPage")
  }
  if (mode !== "off") {
    const { memory } = await import("../extensions/memory/index.ts")
    extensions.push(memory({ mode, space: memorySpace(workspace) }))
    toolNames.push("Recall", ...(mode === "read-write" ? ["Memorize"] : []))
  }
  if (choice.knowledge) {
    const { knowledge } = await import("../hosts/node/knowledge/index.ts")
    extensions.push(knowledge())
    toolNames.push("SearchKnowledge", "ReadKnowledge")
  }
  return { extensions, toolNames }
}

/**
 * The extensions that a run began with, as options: those of the config file may have changed since. Programs of MCP servers are
 * started only if their file is given again; the runtime warns otherwise.
 */
export async function recordedExtensions(
  runtime: Pick<Runtime, "events">,
  { runId, nodeId }: RunReference,
): Promise<Required<ExtensionChoice>> {
  const recorded = new Map<string, unknown>()
  for await (const record of runtime.events(runId, { nodeId })) {
    if (record.type === "turn-start") break
    if (record.type === "extensions") for (const { name, facts } of record.extensions) recorded.set(name, facts)
  }
  const facts = recorded.get("memory")
  const mode = isJsonObject(facts) ? memoryModes.find((each) => each === facts.mode) : undefined
  return {
    skills: recorded.has("skills"),
    memory: mode ?? "off",
    knowledge: recorded.has("knowledge"),
    "no-agents-md": !recorded.has("agents-md"),
  }
}

/** All runs of the command line are in one workspace of the store: each folder has its own memory. */
export function memorySpace(workspace: string): string {
  const real = realpathSync(workspace)
  const name = basename(real)
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40)
  return `${name || "root"}-${sha256(real).slice(0, 12)}`
}

function modeOf(given: string): MemoryMode {
  const mode = memoryModes.find((each) => each === given)
  if (mode !== undefined) return mode
  throw new UsageError(
    `Invalid value for --memory: ${JSON.stringify(given)}.`,
    `Use one of: ${memoryModes.join(", ")}.`,
  )
}
