import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, realpathSync } from "node:fs"
import type { FileGuard, FoundFiles, Search, SearchRequest } from "../../../contract/env.ts"
import { bothGuards, mayRead, noGuard } from "../../../lib/access/file-guard.ts"
import { isOurs } from "../../../lib/own-names.ts"
import { type Confinement, confineTo, type Pin } from "../files/confine.ts"
import type { NodeFilesOptions } from "../files/files.ts"
import { type RipgrepAnswer, runRipgrep } from "./ripgrep-run.ts"
import { toRustPattern } from "./to-rust-pattern.ts"

/**
 * ripgrep only selects candidate files: it opens paths, and a path may lead elsewhere by then. Their content is read
 * here and checked on the opened file.
 */
export function ripgrepSearch(
  program: string,
  { roots, readOnlyRoots = [], hidden = [] }: Pick<NodeFilesOptions, "roots" | "readOnlyRoots" | "hidden">,
): Search {
  return searchIn(program, confineTo(roots, readOnlyRoots, hidden), noGuard)
}

function searchIn(program: string, confinement: Confinement, guard: FileGuard): Search {
  return {
    guarded: (further) => searchIn(program, confinement, bothGuards(guard, further)),

    async find(request) {
      const args = toArguments(request)
      if (args === undefined) return undefined
      const pin = await pinFolder(request)
      if (pin === undefined) return undefined
      try {
        const answer = await runRipgrep({ program, args, cwd: pin.place, signal: request.signal })
        const found = toFound(answer, pin, confinement, guard)
        if (found === undefined) await pin.close()
        return found
      } catch (error) {
        await pin.close()
        throw error
      }
    },
  }

  /** Undefined if the folder may not be searched; reading all files then reports the error. */
  async function pinFolder({ path, cwd }: SearchRequest): Promise<Pin | undefined> {
    try {
      const { real, missing } = await confinement.locate(path, cwd, "read")
      if (missing.length > 0) return undefined
      const pin = await confinement.pin(real, "read")
      if (mayRead(guard, pin.real)) return pin
      await pin.close()
      return undefined
    } catch {
      return undefined
    }
  }
}

function toArguments({ pattern, ignoreCase, multiline, names, skippedFolders, maxFileBytes }: SearchRequest) {
  const rust = toRustPattern(pattern, { ignoreCase, multiline })
  if (rust === undefined) return undefined
  const narrowing = names.every((name) => plainName.test(name)) ? names : []
  return [
    ...["--no-config", "--files-with-matches", "--null", "--hidden", "--no-require-git", "--no-ignore-global"],
    ...["--no-ignore-exclude", "--no-ignore-parent", "--no-ignore-messages", `--max-filesize=${maxFileBytes}`],
    ...skippedFolders.map((name) => `--glob=!${name}/`),
    // A glob would re-include ignored files; a type does not.
    ...narrowing.map((name) => `--type-add=wanted:${name}`),
    ...(narrowing.length > 0 ? ["--type=wanted"] : []),
    // To the end of the file: ripgrep would otherwise count all matches, in quadratic time.
    ...(multiline ? ["--multiline", `--regexp=(?:${rust})(?s-u:.)*`] : [`--regexp=${rust}`]),
    ...["--", "."],
  ]
}

/** Globs that ripgrep interprets like we do. With others, all names are searched. */
const plainName = /^(?!.*\*\*)[\w.*-]*(\{[\w.*-]+(,[\w.*-]+)*\}[\w.*-]*)?$/

function toFound(
  { code, output, stderr }: RipgrepAnswer,
  pin: Pin,
  { hides }: Confinement,
  guard: FileGuard,
): FoundFiles | undefined {
  const paths = output.split("\0").slice(0, -1)
  const unreadable = stderr === "" ? [] : unreadableIn(stderr)
  // A failed search has other messages, or none.
  if (code === null || code > 2 || (code === 2 && stderr === "")) return undefined
  if (unreadable === undefined || paths.length > mostFiles) return undefined
  // Without a trailing slash.
  const place = pin.real.replace(/\/$/, "")
  const isShown = (path: string) => !hides(`${place}/${path}`) && mayRead(guard, `${place}/${path}`)
  const shown = (each: readonly string[]) => each.map(withoutDot).filter((path) => mayBeTold(path) && isShown(path))
  return {
    paths: shown(paths),
    unreadable: shown(unreadable),
    read: async (path, limit) => readChecked(`${pin.place}/${path}`, `${place}/${path}`, limit),
    close: () => pin.close(),
  }
}

/** More are searched in order, since the first matches suffice. */
const mostFiles = 50_000

function withoutDot(path: string): string {
  return path.replace(/^\.\//, "")
}

/** Paths that are not UTF-8 cannot be written. */
function mayBeTold(path: string): boolean {
  return !path.includes("\ufffd") && !path.split("/").some(isOurs)
}

/** Undefined if it reports something else. */
function unreadableIn(stderr: string): readonly string[] | undefined {
  const lines = stderr.trimEnd().split("\n")
  const paths = lines.map((line) => /^(?:rg: )?(\.\/.+): [^:]+ \(os error \d+\)$/.exec(line)?.[1])
  return paths.every((path) => path !== undefined) ? paths : undefined
}

function isDescriptor(place: string): boolean {
  return place.startsWith("/proc/self/fd/")
}

/**
 * Undefined if the path leads elsewhere or is not a file. Synchronous: a thread costs more than the work, because
 * ripgrep has just read the file into the cache.
 */
function readChecked(path: string, real: string, limit: number): Uint8Array | undefined {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY)
    const stats = fstatSync(descriptor)
    const opened = isDescriptor(path) ? readlinkSync(`/proc/self/fd/${descriptor}`) : realpathSync.native(path)
    return stats.isFile() && opened === real ? readWhole(descriptor, Math.min(stats.size, limit)) : undefined
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function readWhole(descriptor: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  let filled = 0
  while (filled < size) {
    const count = readSync(descriptor, bytes, filled, size - filled, filled)
    if (count === 0) break
    filled += count
  }
  return bytes.subarray(0, filled)
}
