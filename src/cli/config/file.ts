import { existsSync, readFileSync, statSync } from "node:fs"
import { readFile, realpath } from "node:fs/promises"
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { pathToFileURL } from "node:url"
import { foldersAbove } from "../../hosts/node/folders-above.ts"
import { parseJsonWithComments } from "../../hosts/node/json-with-comments.ts"
import {
  commandsRanIn,
  forgetFile,
  mayBePlanted,
  removedFiles,
  trustFile,
} from "../../hosts/node/shell/command-record.ts"
import { type OptionTable, UsageError } from "../arguments.ts"
import { clip, reasonOf, shellWord } from "../format.ts"
import { checkSettings, type FileSettings, narrowed, programName } from "./settings.ts"

export const configOptions = {
  config: {
    type: "string",
    value: "<file>",
    help: "Config file; a .js file is executed. Default: longhaul.config.json, here or above.",
  },
  "no-config": { type: "boolean", help: "Ignore config files." },
} as const satisfies OptionTable

/** As given on the command line. */
export interface ConfigChoice {
  readonly config?: string
  readonly "no-config"?: boolean
  readonly workspace?: string
}

export interface ConfigFile {
  readonly path: string
  /** From an auto-discovered file: only settings that restrict a run. */
  readonly settings: FileSettings
}

/**
 * The settings from --config, or from a file found nearby. `say` receives a message about each ignored file. A file that a command may
 * have written is refused: what it restricts could be missing. `planted: "ignore"`: for commands that only read.
 */
export async function readConfig(
  choice: ConfigChoice,
  say: (line: string) => void,
  { planted: whenPlanted = "refuse" }: { readonly planted?: "refuse" | "ignore" } = {},
): Promise<ConfigFile | undefined> {
  if (choice.config !== undefined && choice["no-config"]) {
    throw new UsageError("--config and --no-config cannot be combined.", "Omit one of them.")
  }
  if (choice["no-config"]) {
    for (const path of removedIn(foldersOf(choice.workspace))) forgetFile(path)
    return undefined
  }
  if (choice.config !== undefined) return loadNamed(resolve(choice.config))
  const { data, program, planted } = findConfig(choice.workspace)
  const [removed] = whenPlanted === "refuse" ? removedIn(foldersOf(choice.workspace)) : []
  if (removed !== undefined) throw removedByCommands(removed)
  for (const path of planted) {
    if (whenPlanted === "refuse") throw changedByCommands(path)
    say(`Ignored: ${path} is new or was changed in a folder where commands ran. If it is yours, use --config ${path}`)
  }
  if (program !== undefined) say(`Not loaded: ${program} is a program. If you trust it, use --config ${program}`)
  return data && loadFound(data, say)
}

function changedByCommands(path: string): UsageError {
  return new UsageError(
    `${path} is new or was changed in a folder where commands ran, so its restrictions cannot be trusted.`,
    `If it is yours, use --config ${shellWord(path)}; to run without it, use --no-config.`,
  )
}

function removedByCommands(path: string): UsageError {
  return new UsageError(
    `${path} is missing from a folder where commands ran, so its restrictions are missing, too.`,
    "Restore it; to run without it, use --no-config once.",
  )
}

function removedIn(folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) => removedFiles(folder, [dataName]))
}

export interface FoundConfig {
  readonly data?: FoundFile
  /** Loaded only if named: a program must not be executed just because the user works in its folder. */
  readonly program?: string | undefined
  /** Files that a command may have written. They are ignored. */
  readonly planted: readonly string[]
}

interface FoundFile {
  readonly path: string
  /** Read once, so that the checked content is the used content. Undefined if it cannot be read. */
  readonly text: string | undefined
}

/** Nearest first: from the workspace upwards, else from the current folder. */
export function findConfig(workspace?: string): FoundConfig {
  const named = (name: string) =>
    foldersOf(workspace)
      .map((folder) => join(folder, name))
      .filter((at) => existsSync(at))
  const [program] = named(programName)
  const planted: string[] = []
  for (const path of named(dataName)) {
    const text = readText(path)
    if (text === undefined ? !commandsRanIn(dirname(path)) : !mayBePlanted(path, text)) {
      return { data: { path, text }, planted, program }
    }
    planted.push(path)
  }
  return { planted, program }
}

function foldersOf(workspace: string | undefined): readonly string[] {
  return [...new Set([...(workspace === undefined ? [] : foldersAbove(workspace)), ...foldersAbove(".")])]
}

export const dataName = "longhaul.config.json"

function readText(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? readFileSync(path, "utf8") : undefined
  } catch {
    return undefined
  }
}

/** A file that the user names is trusted: every setting in it applies, and from then on auto-discovery uses it. */
async function loadNamed(path: string): Promise<ConfigFile> {
  if (/\.[cm]?tsx?$/.test(path)) throw inTypeScript(path)
  const isProgram = /\.[cm]?js$/.test(path)
  if (isProgram) return checked(path, await importDefault(path), { isProgram, isNamed: true })
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw unreadable(path, error.code ?? error.message)
  })
  const file = await checked(path, parseData(path, text), { isProgram, isNamed: true })
  trustFile(path, text)
  return file
}

/** Node 20 cannot load TypeScript. */
function inTypeScript(path: string): UsageError {
  const compiled = path.replace(/ts(x?)$/, "js")
  return new UsageError(
    `${path} is TypeScript, which longhaul does not load.`,
    `Compile it (npx tsc ${shellWord(path)}) and pass --config ${shellWord(compiled)}, or write it as JSON or JavaScript with JSDoc types.`,
  )
}

/** An auto-discovered file may restrict a run, never widen what it may do. */
async function loadFound({ path, text }: FoundFile, say: (line: string) => void): Promise<ConfigFile> {
  if (text === undefined) throw unreadable(path, "it is not a file, or is not readable")
  const { settings } = await checked(path, parseData(path, text), { isProgram: false, isNamed: false })
  const { kept, left } = narrowed(settings)
  for (const [key, why] of left) say(`Ignored: ${key} in ${path}, which ${why}. If you trust it, use --config ${path}`)
  return { path, settings: kept }
}

async function checked(
  path: string,
  given: unknown,
  { isProgram, isNamed }: { readonly isProgram: boolean; readonly isNamed: boolean },
): Promise<ConfigFile> {
  const settings = checkSettings(path, given, { isProgram })
  if (settings.workspace !== undefined) await checkWorkspace(path, settings.workspace, isNamed)
  return { path, settings }
}

function parseData(path: string, text: string): unknown {
  try {
    return parseJsonWithComments(text)
  } catch (error) {
    const message = reasonOf(error)
    throw new UsageError(`${path}, ${message}.`, "Write JSON; comments and trailing commas are allowed.")
  }
}

async function importDefault(path: string): Promise<unknown> {
  if (!existsSync(path)) throw unreadable(path, "ENOENT")
  const loaded = await import(pathToFileURL(path).href).catch((error: unknown) => {
    const message = reasonOf(error)
    throw new UsageError(`Could not load ${path}: ${clip(message, 300)}`, `Run it alone to see the error: node ${path}`)
  })
  if (loaded.default !== undefined) return loaded.default
  throw new UsageError(`${path} has no default export.`, "Add: export default { … }.")
}

function unreadable(path: string, reason: string): UsageError {
  return reason === "ENOENT"
    ? new UsageError(`Config file not found: ${path}.`, "Check --config.")
    : new UsageError(`Could not read the config file ${path}: ${reason}.`, "Check it, or use --no-config.")
}

/** An auto-discovered file may not point the tools elsewhere. */
async function checkWorkspace(path: string, workspace: string, isNamed: boolean): Promise<void> {
  const folder = await realpath(workspace).catch(() => undefined)
  if (folder === undefined) {
    throw new UsageError(`${path}: workspace is ${workspace}, which does not exist.`, "Create it, or change workspace.")
  }
  const below = relative(await realpath(dirname(path)), folder)
  if (isNamed || !(below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below))) return
  throw new UsageError(
    `${path}: workspace is ${workspace}, outside the folder of the file.`,
    `If you trust it, use --config ${path}. Otherwise use --workspace with --no-config.`,
  )
}
