import type { Json } from "../../contract/json.ts"
import type { UsesOf } from "../../contract/tool.ts"
import { isJsonObject } from "../json.ts"

/** For tools that use no files, commands or URLs. */
export const usesNothing: UsesOf = () => ({})

export function memberOf(args: Json, name: string): Json | undefined {
  return isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined
}

/** Undefined: it is not a text. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined
}

/** The command lines in the arguments of a shell, by any name that agents have for them. */
export function commandArguments(args: Json): readonly (string | undefined)[] {
  const given = membersOf(args).filter(([name]) => commandNames.has(plain(name)))
  return given.length === 0 ? [undefined] : given.map(([, value]) => lineOf(value))
}

/** The words of a command are a line in which nothing expands. */
function lineOf(value: Json): string | undefined {
  if (!Array.isArray(value)) return textOf(value)
  if (value.length === 0 || !value.every((word): word is string => typeof word === "string")) return undefined
  return value.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ")
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
    return Array.isArray(value) && value.length > 0 ? value.map(textOf) : [textOf(value)]
  })
}

/**
 * The same for a tool that is not known: it need not have any, and they may be anywhere in its arguments. One that is there and
 * not a text is undefined.
 */
export function anyPathArguments(args: Json, depth = 0): readonly (string | undefined)[] {
  if (depth > deepest) return [undefined]
  if (Array.isArray(args)) {
    return args.flatMap((item) => (isContainer(item) ? anyPathArguments(item, depth + 1) : []))
  }
  return membersOf(args).flatMap(([name, value]) => {
    if (!isPathName(name)) return isContainer(value) ? anyPathArguments(value, depth + 1) : []
    const items: readonly Json[] = Array.isArray(value) && value.length > 0 ? value : [value]
    return items.flatMap((item) => {
      const inside = isContainer(item) ? anyPathArguments(item, depth + 1) : []
      return inside.length > 0 ? inside : [textOf(item)]
    })
  })
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
  return pathNames.has(plain(name)) || pathWords.has(words.findLast((word) => word !== "") ?? "")
}

const deepest = 16
const commandNames: ReadonlySet<string> = new Set(["command", "cmd", "commandline", "script", "commands"])
const pathNames: ReadonlySet<string> = new Set(["path", "filepath", "notebookpath", "absolutepath", "relativepath"])
const pathWords: ReadonlySet<string> = new Set(
  (
    "path paths file files filename filenames filepath filepaths source sources src destination destinations dest target " +
    "targets directory directories dir dirs folder folders uri uris"
  ).split(" "),
)
