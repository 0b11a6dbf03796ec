import { fold, matchesParts } from "./glob.ts"

/** A pattern for paths. */
export interface PathPattern {
  /** As written: every spelling of a path needs a pattern that permits it. */
  permits(path: PathSpelling): boolean
  /** In any case and Unicode form: one spelling is enough. */
  refuses(path: PathSpelling): boolean
  /** The name of a path at which refusals begin, without those that are above it. */
  readonly beginsWithName: (name: string) => boolean
  /** False: no refusal begins below this folder. */
  mayRefuseBelow(folder: PathSpelling): boolean
  /** The fixed folder of an absolute pattern. */
  readonly absoluteStart: string | undefined
}

export function isPermitted(patterns: readonly PathPattern[], { spellings, isKnown }: PathSpellings): boolean {
  return isKnown && spellings.every((each) => patterns.some((pattern) => pattern.permits(each)))
}

export function isRefused(patterns: readonly PathPattern[], { spellings }: PathSpellings): boolean {
  return spellings.length === 0 || spellings.some((each) => patterns.some((pattern) => pattern.refuses(each)))
}

/** How a call uses a path. Undefined: unknown. */
export type PathUse = "read" | "write" | undefined

/** One path of a call: as written and resolved. Without spellings it can be any path. */
export interface PathSpellings {
  readonly spellings: readonly PathSpelling[]
  /** False: where the path leads is unknown, so no permission can match. */
  readonly isKnown: boolean
}

/** The parts of an absolute path; and of the same path from the workspace, if it is inside. */
export interface PathSpelling {
  readonly absolute: readonly string[]
  readonly inside: readonly string[] | undefined
  /** The same without differences that some file systems ignore. */
  readonly foldedAbsolute: readonly string[]
  readonly foldedInside: readonly string[] | undefined
}

/** The folders that a call's paths start from. Absolute; the real ones have their links resolved. */
export interface PathBases {
  readonly cwd: string
  readonly workspaces: readonly string[]
  readonly homeFolder: string | undefined
}

/**
 * `src/*` starts at the workspace, `/etc/**` at the root, `~/…` at the home folder. `*` stays within a part; `**` is
 * any number of parts; `folder/**` includes the folder itself. A refusal that starts with `**` applies everywhere.
 */
export function compilePath(pattern: string, homeFolder: string | undefined): PathPattern {
  const expanded = pattern.startsWith("~/") && homeFolder !== undefined ? homeFolder + pattern.slice(1) : pattern
  const isAbsolute = expanded.startsWith("/")
  const parts = partsOf(expanded.normalize("NFC"))
  const folded = parts.map(fold)
  const isEverywhere = isAbsolute || parts[0] === "**"
  const start = folded.slice(0, folded.findLastIndex((part) => part !== "**") + 1)
  const last = start.at(-1)
  const fixed = parts.findIndex((part) => part.includes("*"))
  return {
    permits: ({ absolute, inside }) =>
      isAbsolute ? matchesParts(parts, absolute) : inside !== undefined && matchesParts(parts, inside),
    refuses: ({ foldedAbsolute, foldedInside }) =>
      (isEverywhere && matchesParts(folded, foldedAbsolute)) ||
      (!isAbsolute && foldedInside !== undefined && matchesParts(folded, foldedInside)),
    beginsWithName: (name) => last === undefined || matchesParts([last], [fold(name.normalize("NFC"))]),
    mayRefuseBelow: ({ foldedAbsolute, foldedInside }) =>
      (isEverywhere && mayMatchBelow(start, foldedAbsolute)) ||
      (!isAbsolute && (foldedInside === undefined || mayMatchBelow(start, foldedInside))),
    absoluteStart: isAbsolute ? `/${parts.slice(0, fixed === -1 ? parts.length : fixed).join("/")}` : undefined,
  }
}

/** True if the pattern may match a path below the folder. */
function mayMatchBelow(pattern: readonly string[], folder: readonly string[]): boolean {
  for (const [index, part] of folder.entries()) {
    const expected = pattern[index]
    if (expected === "**") return true
    if (expected === undefined || !matchesParts([expected], [part])) return false
  }
  return pattern.length > folder.length
}

/** The absolute texts that a path can mean, as the kernel gets them: programs differ in whether they expand `~` and read `file:` addresses. */
export function meaningsOf(written: string, { cwd, homeFolder }: PathBases): readonly string[] {
  const meanings = [written.startsWith("/") ? written : `${cwd}/${written}`]
  if (/^~(\/|$)/.test(written) && homeFolder !== undefined) meanings.push(`${homeFolder}/${written.slice(1)}`)
  // As the parser of addresses reads it, which ignores blanks before it and line breaks inside.
  const url = written.includes(":") && URL.canParse(written) ? new URL(written) : undefined
  if (url?.protocol !== "file:") return meanings
  // The parser takes `..` out of it, which others leave to the kernel.
  const [, rest = ""] = /^[^:]*:(?:\/\/[^/]*)?(\/.*)$/s.exec(written) ?? []
  return [...meanings, decoded(url.pathname), ...(rest === "" ? [] : [decoded(rest)])]
}

/** The absolute paths that these texts name, without `..`. */
export function readingsOf(meanings: readonly string[], { cwd }: PathBases): readonly string[] {
  const readings = meanings.map((path) => absolutePath("/", path))
  const inProcess = [...meanings, ...readings].map((path) => ofProcess(path, cwd))
  return [...new Set([...readings, ...inProcess.filter((path) => path !== undefined)])]
}

/** True for a path below an open file of a process: it can be any folder. The first three alone are where its output goes. */
export function isBelowDescriptor(path: string): boolean {
  const [, number, rest] =
    /^\/(?:proc\/[^/]+\/(?:task\/[^/]+\/)?fd|dev\/fd)\/([^/]+)(\/.+)?$/s.exec(path) ??
    /^\/dev\/(std(?:in|out|err))(\/.+)$/s.exec(path) ??
    []
  return number !== undefined && (rest !== undefined || !/^[012]$/.test(number))
}

/** Where `/proc/self/cwd/x` and `/proc/self/root/x` lead for the program that opens them, which is not this one. */
function ofProcess(written: string, cwd: string): string | undefined {
  const start = written.replace(/\/(\.?\/)+/g, "/")
  let inner = start
  for (;;) {
    const [, kind, rest = ""] = /^\/proc\/[^/]+\/(?:task\/[^/]+\/)?(cwd|root)(?:\/(.*))?$/s.exec(inner) ?? []
    if (kind === "cwd") return absolutePath(cwd, `./${rest}`)
    if (kind === undefined) return inner === start ? undefined : absolutePath("/", inner)
    inner = `/${rest}`
  }
}

/** All spellings of a path: `readings` as written, `real` where they lead. */
export function spell(
  written: string,
  readings: readonly string[],
  real: readonly string[],
  bases: PathBases,
): PathSpellings {
  const absolutes = new Set([...readings, ...real.map((path) => absolutePath("/", path))])
  const roots = bases.workspaces.map((folder) => partsOf(folder.normalize("NFC")))
  // The home folder of another user is unknown.
  const isKnown = !written.includes("\0") && !/^~[^/]/.test(written)
  return { spellings: Array.from(absolutes, (path) => spellingOf(path, roots)), isKnown }
}

/** Without `.`, `..` and repeated slashes, as the file tools read it. */
export function absolutePath(cwd: string, path: string): string {
  return `/${partsOf(path.startsWith("/") ? path : `${cwd}/${path}`).join("/")}`
}

function spellingOf(path: string, roots: readonly (readonly string[])[]): PathSpelling {
  const absolute = partsOf(path.normalize("NFC"))
  const foldedAbsolute = absolute.map(fold)
  const depth = roots.find((root) => root.every((part, index) => part === absolute[index]))?.length
  // On a file system without case, another spelling of the workspace leads into it as well.
  const foldedDepth = roots.find((root) => root.every((part, index) => fold(part) === foldedAbsolute[index]))?.length
  return {
    absolute,
    foldedAbsolute,
    inside: depth === undefined ? undefined : absolute.slice(depth),
    foldedInside: foldedDepth === undefined ? undefined : foldedAbsolute.slice(foldedDepth),
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function partsOf(path: string): string[] {
  const parts: string[] = []
  for (const part of path.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return parts
}
