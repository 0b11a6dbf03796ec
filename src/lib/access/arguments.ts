import type { Json } from "../../contract/json.ts"
import type { UsesOf } from "../../contract/tool.ts"
import { isJsonObject } from "../json.ts"

/** For tools that use no files, commands or URLs. */
export const usesNothing: UsesOf = () => ({})

export function memberOf(args: Json, name: string): Json | undefined {
  return isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined
}

/** Undefined: it is not a text. */
export function ifText(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined
}

/** The command lines in the arguments of a shell, by any name that agents have for them. */
export function commandArguments(args: Json): readonly (string | undefined)[] {
  const members = membersOf(args)
  const given = members.filter(([name]) => commandNames.has(plain(name)))
  const more = members.filter(([name]) => /^(args|arguments|argv)$/.test(plain(name))).map(([, value]) => value)
  if (given.length === 0) return [undefined]
  return given.flatMap(([name, value]) => {
    if (plain(name) === "commands" && Array.isArray(value)) return value.map(lineOf)
    return [withWords(lineOf(value), more)]
  })
}

/** The folders in which a shell has to run a command. One that is present and not a string is undefined. */
export function folderArguments(args: Json): readonly (string | undefined)[] {
  return membersOf(args).flatMap(([name, value]) =>
    folderNames.has(plain(name)) && value !== null && value !== "" ? [ifText(value)] : [],
  )
}

/** The words of a command are a line in which nothing expands. */
function lineOf(value: Json): string | undefined {
  if (!Array.isArray(value)) return ifText(value)
  const [program] = value
  // A program has no blanks: such a word is a line of its own, or one that is split.
  if (typeof program !== "string" || /\s/.test(program)) return undefined
  return value.every((word): word is string => typeof word === "string") ? value.map(quoted).join(" ") : undefined
}

function withWords(line: string | undefined, more: readonly Json[]): string | undefined {
  const words = more.flat()
  if (line === undefined || words.length === 0) return line
  return words.every((word): word is string => typeof word === "string")
    ? [line, ...words.map(quoted)].join(" ")
    : undefined
}

function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** The paths in the arguments of a file tool, by any name that agents have for them. One that is missing is undefined. */
export function pathArguments(args: Json): readonly (string | undefined)[] {
  const given = pathsNamed(args)
  return given.length === 0 ? [undefined] : given
}

/** The folder that a search starts at. */
export function startArguments(args: Json): readonly (string | undefined)[] {
  const given = pathsNamed(args)
  return given.length === 0 ? ["."] : given
}

function pathsNamed(args: Json): readonly (string | undefined)[] {
  return membersOf(args).flatMap(([name, value]) => {
    if (!pathNames.has(plain(name))) return []
    return Array.isArray(value) && value.length > 0 ? value.map(ifText) : [ifText(value)]
  })
}

/**
 * The same for a tool that is not known: it need not have any, and they may be anywhere in its arguments. One that is there and
 * not a text is undefined.
 */
export function anyPathArguments(args: Json, depth = 0): readonly (string | undefined)[] {
  if (depth > deepest) return [undefined]
  if (Array.isArray(args)) return args.flatMap((item) => pathsInside(item, depth))
  return membersOf(args).flatMap(([name, value]) => {
    if (!isPathName(name)) return pathsInside(value, depth)
    const items: readonly Json[] = Array.isArray(value) && value.length > 0 ? value : [value]
    return items.flatMap((item) => {
      const inside = isContainer(item) ? anyPathArguments(item, depth + 1) : []
      return inside.length > 0 ? inside : [ifText(item)]
    })
  })
}

/** A file URL is a path, whatever the name of the argument. */
function pathsInside(value: Json, depth: number): readonly (string | undefined)[] {
  if (isContainer(value)) return anyPathArguments(value, depth + 1)
  return typeof value === "string" && /^\s*file:/i.test(value) ? [value] : []
}

function isContainer(value: Json): boolean {
  return typeof value === "object" && value !== null
}

function membersOf(args: Json): readonly (readonly [string, Json])[] {
  return isJsonObject(args) ? Object.entries(args) : []
}

/** `filePath`, `file_path` and `FilePath` are one name. */
function plain(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase()
}

/** By its last word, as in `absolute_path` and `targetFile`: `profile` is another word. */
function isPathName(name: string): boolean {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
  const last = words.map((word) => word.replace(/\d+$/, "")).findLast((word) => word !== "")
  return pathNames.has(plain(name)) || pathWords.has(plain(name)) || pathWords.has(last ?? "")
}

const deepest = 16
const commandNames: ReadonlySet<string> = new Set(["command", "cmd", "commandline", "script", "commands"])
const folderNames: ReadonlySet<string> = new Set(
  "cwd workdir workingdir workingdirectory workingfolder directory directorypath dir dirpath folder folderpath".split(
    " ",
  ),
)
const pathNames: ReadonlySet<string> = new Set(["path", "filepath", "notebookpath", "absolutepath", "relativepath"])
const pathWords: ReadonlySet<string> = new Set(
  (
    "path paths file files filename filenames filepath filepaths source sources src destination destinations dest target " +
    "targets directory directories dir dirs folder folders uri uris pathname pathnames dst cwd workdir attachment attachments"
  ).split(" "),
)
