import { existsSync, statSync } from "node:fs"
import { readFile, realpath } from "node:fs/promises"
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { pathToFileURL } from "node:url"
import { type OptionTable, UsageError } from "./arguments.ts"
import { checkSettings, type FileSettings, programName } from "./config-settings.ts"
import { clip } from "./format.ts"
import { parseJsonWithComments } from "./json-with-comments.ts"

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
  readonly settings: FileSettings
}

/** The settings that were asked for, or those found nearby. `say` hears what was found and left alone. */
export async function readConfig(choice: ConfigChoice, say: (line: string) => void): Promise<ConfigFile | undefined> {
  if (choice.config !== undefined && choice["no-config"]) {
    throw new UsageError("--config and --no-config contradict each other.", "Leave one of them out.")
  }
  if (choice["no-config"]) return undefined
  if (choice.config !== undefined) return load(resolve(choice.config), { isNamed: true })
  const { data, program } = findConfig(choice.workspace)
  if (program !== undefined) say(`Not loaded: ${program} is a program. If you trust it: --config ${program}`)
  return data === undefined ? undefined : load(data, { isNamed: false })
}

export interface FoundConfig {
  readonly data?: string
  /** Never loaded unless it is named: a program from a folder that somebody only wants to work in must not run. */
  readonly program?: string
}

/** Nearest first: from the workspace upwards, else from the current folder. */
export function findConfig(workspace?: string): FoundConfig {
  const folders = [...(workspace === undefined ? [] : foldersAbove(workspace)), ...foldersAbove(".")]
  const nearest = (name: string) => folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
  const data = nearest(dataName)
  const program = nearest(programName)
  return { ...(data !== undefined && { data }), ...(program !== undefined && { program }) }
}

export const dataName = "longhaul.config.json"

/** The folder and those above it, up to the one that holds a repository, without those in which anybody may put files. */
function foldersAbove(start: string): readonly string[] {
  const folders = [resolve(start)]
  for (let folder = resolve(start); folder !== dirname(folder) && !existsSync(join(folder, ".git")); ) {
    folder = dirname(folder)
    if (!isOpenToAll(folder)) folders.push(folder)
  }
  return folders
}

function isOpenToAll(folder: string): boolean {
  return ((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o002) !== 0
}

async function load(path: string, { isNamed }: { isNamed: boolean }): Promise<ConfigFile> {
  const isProgram = /\.[cm]?js$/.test(path)
  const given = isProgram ? await importDefault(path) : await readData(path)
  const settings = checkSettings(path, given, { isProgram })
  if (settings.workspace !== undefined) await checkWorkspace(path, settings.workspace, isNamed)
  return { path, settings }
}

async function readData(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw unreadable(path, error.code ?? error.message)
  })
  try {
    return parseJsonWithComments(text)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${path}, ${message}.`, "Write JSON; comments and trailing commas are allowed.")
  }
}

async function importDefault(path: string): Promise<unknown> {
  if (!existsSync(path)) throw unreadable(path, "ENOENT")
  const loaded = await import(pathToFileURL(path).href).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error)
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
