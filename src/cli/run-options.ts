import { isUtf8 } from "node:buffer"
import { readFile, realpath, stat } from "node:fs/promises"
import { basename, isAbsolute, relative, resolve, sep } from "node:path"
import type { JsonObject } from "../contract/json.ts"
import type { Effort } from "../contract/model-settings.ts"
import type { Limits } from "../contract/result.ts"
import type { Attachment, RunInput } from "../contract/run.ts"
import { namedProviders } from "../hosts/node/model-names.ts"
import { isJsonObject } from "../lib/json.ts"
import { modelSettings } from "../lib/model-settings.ts"
import { numberOption, type OptionTable, UsageError } from "./arguments.ts"
import { reasonOf } from "./format.ts"
import { checkWithheld } from "./vendor-tools.ts"

const efforts = ["minimal", "low", "medium", "high", "max"] as const satisfies readonly Effort[]
const outputModes = ["strict", "forward"] as const

/** Options of every command that starts runs. */
export const startOptions = {
  workspace: { type: "string", value: "<dir>", help: "Folder that the tools work in. Default: the current one." },
  model: {
    type: "string",
    value: "<name>",
    help: "offline, or <provider>:<model>. Default: chosen by the key in the environment.",
  },
  backend: {
    type: "string",
    value: "<name>",
    help: "What runs the agent: native (default), auto, or a program. See the command backends.",
  },
  system: { type: "string", value: "<text>", help: "System prompt." },
  "mcp-config": {
    type: "string",
    value: "<file>",
    help: "File with MCP servers, such as .mcp.json. Its programs are started.",
  },
  "max-turns": { type: "string", value: "<n>", help: "Maximum number of model calls. Default: 100." },
} as const satisfies OptionTable

/** Help notes for commands with these options. */
export const startNotes: readonly string[] = [
  `Providers: ${namedProviders.map(({ name }) => name).join(", ")}.`,
  "Without a key in the environment (such as ANTHROPIC_API_KEY) the model is offline: rules, not an LLM.",
  "Settings without an option come from LONGHAUL_MODEL, LONGHAUL_MAX_TURNS and LONGHAUL_STORE, then from the config file.",
]

/** Options of a single run, apart from its task. */
export const inputOptions = {
  timeout: { type: "string", value: "<seconds>", help: "Time limit of the run." },
  "read-only": { type: "boolean", help: "Remove the tools that change anything." },
  "max-cost": { type: "string", value: "<dollars>", help: "Stop when the run has cost this much." },
  "max-tokens": { type: "string", value: "<n>", help: "Stop when the run has used this many tokens." },
  "max-output": { type: "string", value: "<n>", help: "Maximum number of tokens of one answer." },
  effort: {
    type: "string",
    value: "<level>",
    values: efforts,
    help: `Reasoning effort: ${efforts.join(", ")}.`,
  },
  temperature: { type: "string", value: "<n>", help: "From 0 to 2." },
  schema: { type: "string", value: "<file>", help: "JSON Schema that the answer must match." },
  "output-mode": {
    type: "string",
    value: "<mode>",
    values: outputModes,
    help: "If the answer does not match: strict fails, forward returns it anyway. Default: strict.",
  },
  attach: {
    type: "string",
    multiple: true,
    value: "<file>",
    help: "Image, PDF or text file to attach. Repeat for more files.",
  },
  tools: { type: "string", value: "<a,b>", help: "Offer only these tools to the model." },
  "no-tools": { type: "string", value: "<a,b>", help: "Do not offer these tools to the model." },
  cwd: { type: "string", value: "<dir>", help: "Folder inside the workspace where tools start. Default: its root." },
} as const satisfies OptionTable

/** As given on the command line. */
export interface InputChoice {
  readonly backend?: string
  readonly "max-cost"?: string
  readonly "max-tokens"?: string
  readonly "max-output"?: string
  readonly effort?: string
  readonly temperature?: string
  readonly schema?: string
  readonly "output-mode"?: string
  readonly attach?: readonly string[]
  readonly tools?: string
  readonly "no-tools"?: string
  readonly cwd?: string
}

type ChosenInput = Pick<
  RunInput,
  | "maxOutputTokens"
  | "effort"
  | "temperature"
  | "outputSchema"
  | "outputMode"
  | "attachments"
  | "allowedTools"
  | "disabledTools"
  | "cwd"
> & { readonly limits: Partial<Limits> }

/** Rejects invalid options before anything is started. */
export async function chosenInput(
  choice: InputChoice,
  { workspace, toolNames }: { readonly workspace: string; readonly toolNames: readonly string[] },
): Promise<ChosenInput> {
  const maxOutputTokens = numberOption("max-output", choice["max-output"], { from: 1, to: 10_000_000, whole: true })
  const temperature = numberOption("temperature", choice.temperature, { from: 0, to: 2, whole: false })
  const effort = wordOption("effort", choice.effort, efforts)
  const outputMode = wordOption("output-mode", choice["output-mode"], outputModes)
  if (outputMode !== undefined && choice.schema === undefined) {
    throw new UsageError("--output-mode requires --schema.", "Add --schema, or omit --output-mode.")
  }
  const allowedTools = toolsOption("tools", choice.tools, toolNames)
  const disabledTools = toolsOption("no-tools", choice["no-tools"], toolNames)
  await checkWithheld(choice.backend, {
    ...(allowedTools && { allowedTools }),
    ...(disabledTools && { disabledTools }),
  })
  return {
    limits: limitsOf(choice),
    ...modelSettings({ temperature, maxOutputTokens, effort }),
    ...(choice.schema !== undefined && { outputSchema: await readSchema(choice.schema) }),
    ...(outputMode && { outputMode }),
    ...(choice.attach && { attachments: await Promise.all(choice.attach.map(readAttachment)) }),
    ...(allowedTools && { allowedTools }),
    ...(disabledTools && { disabledTools }),
    ...(choice.cwd !== undefined && { cwd: await folderInside(workspace, choice.cwd) }),
  }
}

function limitsOf(choice: InputChoice): Partial<Limits> {
  const usd = numberOption("max-cost", choice["max-cost"], { from: 0.000001, to: 1_000_000, whole: false })
  const tokens = numberOption("max-tokens", choice["max-tokens"], { from: 1, to: Number.MAX_SAFE_INTEGER, whole: true })
  return { ...(usd !== undefined && { usd }), ...(tokens !== undefined && { tokens }) }
}

function wordOption<Word extends string>(
  name: string,
  given: string | undefined,
  known: readonly Word[],
): Word | undefined {
  const word = known.find((each) => each === given)
  if (word !== undefined || given === undefined) return word
  throw new UsageError(`Invalid value for --${name}: ${JSON.stringify(given)}.`, `Use one of: ${known.join(", ")}.`)
}

/** A misspelt name in a list of disabled tools would disable nothing. */
function toolsOption(name: string, given: string | undefined, known: readonly string[]): readonly string[] | undefined {
  if (given === undefined) return undefined
  const names = given.split(",").map((each) => each.trim())
  const unknown = names.find((each) => !known.includes(each))
  if (unknown === undefined) return names
  throw new UsageError(
    `Unknown tool in --${name}: ${JSON.stringify(unknown)}.`,
    `Use a comma-separated list of: ${known.join(", ")}.`,
  )
}

async function readSchema(path: string): Promise<JsonObject> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw unreadable("schema", path, error)
  })
  let schema: unknown
  try {
    schema = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`--schema ${path} is not JSON: ${reasonOf(error)}.`, "Write a JSON Schema to the file.")
  }
  if (isJsonObject(schema)) return schema
  throw new UsageError(
    `--schema ${path} does not contain an object.`,
    'Write a JSON Schema, such as { "type": "object" }.',
  )
}

/** Read here: the user may name any file, the tools may not. */
async function readAttachment(path: string): Promise<Attachment> {
  const { mediaTypeOf } = await import("../settings/input/attachments.ts")
  const data = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable("attach", path, error)
  })
  const mediaType = mediaTypeOf(path)
  if (!mediaType.startsWith("text/") || isUtf8(data)) return { data, mediaType, name: basename(path) }
  throw new UsageError(
    `--attach ${path} is not text, an image or a PDF.`,
    "Attach PNG, JPEG, GIF or WebP images, PDFs or text.",
  )
}

async function folderInside(workspace: string, given: string): Promise<string> {
  const folder = resolve(workspace, given)
  const [root, real] = await Promise.all([realpath(workspace), realpath(folder)]).catch((error) => {
    throw unreadable("cwd", given, error)
  })
  const below = relative(root, real)
  if (below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below)) {
    throw new UsageError(
      `--cwd ${given} is outside the workspace ${workspace}.`,
      "Choose a folder inside it, or another --workspace.",
    )
  }
  if ((await stat(real)).isDirectory()) return folder
  throw new UsageError(`--cwd ${given} is not a folder.`, `Choose a folder inside ${workspace}.`)
}

function unreadable(option: string, path: string, { code, message }: NodeJS.ErrnoException): UsageError {
  const reason = code === "ENOENT" ? "does not exist" : `cannot be read: ${code ?? message}`
  return new UsageError(`--${option} ${path} ${reason}.`, "Check the path.")
}
