import { existsSync, readFileSync, statSync } from "node:fs"
import { readFile, realpath } from "node:fs/promises"
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { pathToFileURL } from "node:url"
import { commandsRanIn, mayBePlanted, trustFile } from "../../hosts/node/shell/command-record.ts"
import { type OptionTable, UsageError } from "../arguments.ts"
import { clip, reasonOf, shellWord } from "../format.ts"
import { parseJsonWithComments } from "./json-with-comments.ts"
import { checkSettings, type FileSettings, narrowed, programName } from "./settings.ts"

export const configOptions = {
  config: {
    type: "string",
    value: "<file>",
    help: "Settings; a .js file is run. Default: longhaul.config.json, here or above.",
  },
  "no-config": { type: "boolean", help: "Heed no config file." },
} as const satisfies OptionTable

/** As the command line says it. */
export interface ConfigChoice {
  readonly config?: string
  readonly "no-config"?: boolean
  readonly workspace?: string
}

export interface ConfigFile {
  readonly path: string
  /** Of a file that was found, only those that narrow what a run may do. */
  readonly settings: FileSettings
}

/** The settings that were asked for, or those found nearby. `say` hears what was found and left alone. */
export async function readConfig(choice: ConfigChoice, say: (line: string) => void): Promise<ConfigFile | undefined> {
  if (choice.config !== undefined && choice["no-config"]) {
    throw new UsageError("--config and --no-config contradict each other.", "Leave one of them out.")
  }
  if (choice["no-config"]) return undefined
  if (choice.config !== undefined) return loadNamed(resolve(choice.config))
  const { data, program, planted } = findConfig(choice.workspace)
  for (const path of planted) {
    say(`Not used: ${path} is new or was changed in a folder where commands ran. If it is yours: --config ${path}`)
  }
  if (program !== undefined) say(`Not loaded: ${program} is a program. If you trust it: --config ${program}`)
  return data && loadFound(data, say)
}

export interface FoundConfig {
  readonly data?: FoundFile
  /** Never loaded unless it is named: a program from a folder that somebody only wants to work in must not run. */
  readonly program?: string
  /** Files that a command may have written. They are passed over. */
  readonly planted: readonly string[]
}

interface FoundFile {
  readonly path: string
  /** Read once, so that what was checked is what is used. Undefined where it cannot be read. */
  readonly text: string | undefined
}

/** Nearest first: from the workspace upwards, else from the current folder. */
export function findConfig(workspace?: string): FoundConfig {
  const folders = [...(workspace === undefined ? [] : foldersAbove(workspace)), ...foldersAbove(".")]
  const named = (name: string) =>
    [...new Set(folders)].map((folder) => join(folder, name)).filter((at) => existsSync(at))
  const [program] = named(programName)
  const planted: string[] = []
  for (const path of named(dataName)) {
    const text = readText(path)
    if (text === undefined ? !commandsRanIn(dirname(path)) : !mayBePlanted(path, text)) {
      return { data: { path, text }, planted, ...(program !== undefined && { program }) }
    }
    planted.push(path)
  }
  return { planted, ...(program !== undefined && { program }) }
}

export const dataName = "longhaul.config.json"

function readText(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? readFileSync(path, "utf8") : undefined
  } catch {
    return undefined
  }
}

/**
 * The folder and those above it, up to the one that holds a repository, without those in which anybody may put files. A
 * command could make a repository, or open a folder to all, to hide the file above: neither counts where commands ran.
 */
function foldersAbove(start: string): readonly string[] {
  const folders = [resolve(start)]
  for (let folder = resolve(start); folder !== dirname(folder) && !isRepository(folder); ) {
    folder = dirname(folder)
    if (!isOpenToAll(folder) || commandsRanIn(folder)) folders.push(folder)
  }
  return folders
}

function isRepository(folder: string): boolean {
  return existsSync(join(folder, ".git")) && !commandsRanIn(dirname(folder))
}

function isOpenToAll(folder: string): boolean {
  return ((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o002) !== 0
}

/** A file that the user names is theirs: it may say everything, and is used from then on where it is found. */
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

/** Node 20 cannot load TypeScript by itself. */
function inTypeScript(path: string): UsageError {
  const compiled = path.replace(/ts(x?)$/, "js")
  return new UsageError(
    `${path} is TypeScript, which this program does not load.`,
    `Compile it (npx tsc ${shellWord(path)}) and pass --config ${shellWord(compiled)}, or write it as JSON or JavaScript with JSDoc types.`,
  )
}

/** A file that came with a folder may narrow what a run does there, never widen it. */
async function loadFound({ path, text }: FoundFile, say: (line: string) => void): Promise<ConfigFile> {
  if (text === undefined) throw unreadable(path, "it is no file, or may not be read")
  const { settings } = await checked(path, parseData(path, text), { isProgram: false, isNamed: false })
  const { kept, left } = narrowed(settings)
  for (const [key, why] of left) say(`Not used: ${key} in ${path}, which ${why}. If you trust it: --config ${path}`)
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
    throw new UsageError(`${path} could not be loaded: ${clip(message, 300)}`, `Try it alone: node ${path}`)
  })
  if (loaded.default !== undefined) return loaded.default
  throw new UsageError(`${path} has no default export.`, "Write: export default { … }.")
}

function unreadable(path: string, reason: string): UsageError {
  return reason === "ENOENT"
    ? new UsageError(`There is no config file ${path}.`, "Check --config.")
    : new UsageError(`The config file ${path} cannot be read: ${reason}.`, "Check it, or use --no-config.")
}

/** A file that came with a folder may not point the tools elsewhere. */
async function checkWorkspace(path: string, workspace: string, isNamed: boolean): Promise<void> {
  const folder = await realpath(workspace).catch(() => undefined)
  if (folder === undefined) {
    throw new UsageError(`${path}: workspace is ${workspace}, which is not there.`, "Create it, or change workspace.")
  }
  const below = relative(await realpath(dirname(path)), folder)
  if (isNamed || !(below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below))) return
  throw new UsageError(
    `${path}: workspace is ${workspace}, outside of the folder that the file is in.`,
    `If you trust it, name it: --config ${path}. Otherwise use --workspace with --no-config.`,
  )
}
