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

const efforts = ["minimal", "low", "medium", "high", "max"] as const satisfies readonly Effort[]
const outputModes = ["strict", "forward"] as const

/** What everything that starts runs takes. */
export const startOptions = {
  workspace: { type: "string", value: "<dir>", help: "The folder the tools work in. Default: this one." },
  model: {
    type: "string",
    value: "<name>",
    help: "offline, or <provider>:<model>. Default: by the key in the environment.",
  },
  system: { type: "string", value: "<text>", help: "Instructions that stand above the task." },
  "max-turns": { type: "string", value: "<n>", help: "The most model calls. Default: 100." },
} as const satisfies OptionTable

/** Notes for the help of a command that takes them. */
export const startNotes: readonly string[] = [
  `Providers: ${namedProviders.map(({ name }) => name).join(", ")}.`,
  "Without a key in the environment (such as ANTHROPIC_API_KEY) the model is offline: rules, not an LLM.",
  "What no option says comes from LONGHAUL_MODEL, LONGHAUL_MAX_TURNS and LONGHAUL_STORE, then from the config file.",
]

/** What one run may be asked beside its task. */
export const inputOptions = {
  timeout: { type: "string", value: "<seconds>", help: "The longest the run may take." },
  "read-only": { type: "boolean", help: "Take away the tools that change anything." },
  "max-cost": { type: "string", value: "<dollars>", help: "Stop once the run has cost this much." },
  "max-tokens": { type: "string", value: "<n>", help: "Stop once the run has used this many tokens." },
  "max-output": { type: "string", value: "<n>", help: "The most tokens of one answer." },
  effort: {
    type: "string",
    value: "<level>",
    values: efforts,
    help: `How hard the model thinks: ${efforts.join(", ")}.`,
  },
  temperature: { type: "string", value: "<n>", help: "From 0 to 2." },
  schema: { type: "string", value: "<file>", help: "A JSON Schema that the answer must fit." },
  "output-mode": {
    type: "string",
    value: "<mode>",
    values: outputModes,
    help: "Where the answer does not fit: strict fails, forward takes what came. Default: strict.",
  },
  attach: {
    type: "string",
    multiple: true,
    value: "<file>",
    help: "An image, a PDF or a text. May be given more than once.",
  },
  tools: { type: "string", value: "<a,b>", help: "The only tools that the model gets." },
  "no-tools": { type: "string", value: "<a,b>", help: "Tools that the model does not get." },
  cwd: { type: "string", value: "<dir>", help: "Where in the workspace the tools begin. Default: at its top." },
} as const satisfies OptionTable

/** As the command line says it. */
export interface InputChoice {
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

/** Refuses what cannot be meant before anything is started. */
export async function chosenInput(
  choice: InputChoice,
  { workspace, toolNames }: { readonly workspace: string; readonly toolNames: readonly string[] },
): Promise<ChosenInput> {
  const maxOutputTokens = numberOption("max-output", choice["max-output"], { from: 1, to: 10_000_000, whole: true })
  const temperature = numberOption("temperature", choice.temperature, { from: 0, to: 2, whole: false })
  const effort = wordOption("effort", choice.effort, efforts)
  const outputMode = wordOption("output-mode", choice["output-mode"], outputModes)
  if (outputMode !== undefined && choice.schema === undefined) {
    throw new UsageError("--output-mode has nothing to work on.", "Give a --schema too.")
  }
  const allowedTools = toolsOption("tools", choice.tools, toolNames)
  const disabledTools = toolsOption("no-tools", choice["no-tools"], toolNames)
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
  throw new UsageError(`--${name} is ${JSON.stringify(given)}.`, `Give --${name} as one of: ${known.join(", ")}.`)
}

/** A misspelt name in a list of what is taken away would take nothing away. */
function toolsOption(name: string, given: string | undefined, known: readonly string[]): readonly string[] | undefined {
  if (given === undefined) return undefined
  const names = given.split(",").map((each) => each.trim())
  const unknown = names.find((each) => !known.includes(each))
  if (unknown === undefined) return names
  throw new UsageError(
    `--${name} names ${JSON.stringify(unknown)}, which is no tool here.`,
    `Give some of these, with commas between them: ${known.join(", ")}.`,
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
    throw new UsageError(`--schema ${path} is not JSON: ${reasonOf(error)}.`, "Write a JSON Schema into it.")
  }
  if (isJsonObject(schema)) return schema
  throw new UsageError(
    `--schema ${path} does not hold an object.`,
    'Write a JSON Schema, such as { "type": "object" }.',
  )
}

/** Read here: whoever gives the command may name any file, which the tools may not. */
async function readAttachment(path: string): Promise<Attachment> {
  const { mediaTypeOf } = await import("../runtime/input/attachments.ts")
  const data = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable("attach", path, error)
  })
  const mediaType = mediaTypeOf(path)
  if (!mediaType.startsWith("text/") || isUtf8(data)) return { data, mediaType, name: basename(path) }
  throw new UsageError(`--attach ${path} is not a text.`, "Attach PNG, JPEG, GIF or WebP images, PDFs or text.")
}

async function folderInside(workspace: string, given: string): Promise<string> {
  const folder = resolve(workspace, given)
  const [root, real] = await Promise.all([realpath(workspace), realpath(folder)]).catch((error) => {
    throw unreadable("cwd", given, error)
  })
  const below = relative(root, real)
  if (below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below)) {
    throw new UsageError(
      `--cwd ${given} lies outside the workspace ${workspace}.`,
      "Choose a folder inside it, or another --workspace.",
    )
  }
  if ((await stat(real)).isDirectory()) return folder
  throw new UsageError(`--cwd ${given} is not a folder.`, `Choose a folder inside ${workspace}.`)
}

function unreadable(option: string, path: string, { code, message }: NodeJS.ErrnoException): UsageError {
  const reason = code === "ENOENT" ? "is not there" : `cannot be read: ${code ?? message}`
  return new UsageError(`--${option} ${path} ${reason}.`, "Check the path.")
}
