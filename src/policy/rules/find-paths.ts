import type { PolicyCall } from "../../contract/policy.ts"
import type { Part } from "./known-tools.ts"
import {
  absolutePath,
  isBelowDescriptor,
  meaningsOf,
  type PathBases,
  type PathSpellings,
  readingsOf,
  spell,
} from "./path-pattern.ts"

/** Returns where an absolute path leads: links are resolved as far as the path exists. Rejects if that is unknown. */
export type ResolvePath = (path: string) => Promise<string>

/** The spellings of a call's paths. */
export type FindPaths = (paths: readonly Part[], call: Pick<PolicyCall, "cwd" | "workspace">) => Promise<FoundPaths>

export interface FoundPaths {
  /** In the given order. */
  readonly paths: readonly PathSpellings[]
  /** Where one of them leads is unknown. */
  readonly isUnresolved: boolean
  readonly bases: PathBases
}

export function pathFinder(resolvePath: ResolvePath | undefined, homeFolder: string | undefined): FindPaths {
  const workspaces = new Map<string, readonly string[]>()
  const workspacesOf = async (workspace: string): Promise<readonly string[]> => {
    let known = workspaces.get(workspace)
    if (known === undefined) {
      const real = await resolvePath?.(workspace).catch(() => workspace)
      known = [...new Set([workspace, real ?? workspace])]
      if (workspaces.size === mostWorkspaces) workspaces.clear()
      workspaces.set(workspace, known)
    }
    return known
  }
  return async (written, { cwd, workspace }) => {
    const bases = { cwd, workspaces: await workspacesOf(workspace), homeFolder }
    let isUnresolved = false
    const paths: PathSpellings[] = []
    for (const path of written) {
      if (path === undefined) {
        paths.push(unknownPath)
        continue
      }
      const meanings = meaningsOf(path, bases)
      const found = await resolved(meanings, bases, resolvePath)
      isUnresolved ||= found.isUnresolved
      const { readings, real } = found
      paths.push([...readings, ...real].some(isBelowDescriptor) ? unknownPath : spell(path, readings, real, bases))
    }
    return { paths, isUnresolved, bases }
  }
}

const mostWorkspaces = 100

/** `readings`: as written, and as the kernel reads it. `real`: where they lead. */
async function resolved(meanings: readonly string[], bases: PathBases, resolvePath: ResolvePath | undefined) {
  const written = readingsOf(meanings, bases)
  if (resolvePath === undefined) return { readings: written, real: [], isUnresolved: false }
  let isUnresolved = false
  const attempt = async (work: Promise<string>): Promise<readonly string[]> => {
    try {
      return [await work]
    } catch {
      isUnresolved = true
      return []
    }
  }
  const stepped = await Promise.all(
    meanings.filter((path) => leavesFolder.test(path)).map((path) => attempt(kernelPath(path, resolvePath))),
  )
  const readings = [...new Set([...written, ...readingsOf(stepped.flat(), bases)])]
  const real = await Promise.all(readings.map((reading) => attempt(resolvePath(reading))))
  return { readings, real: real.flat(), isUnresolved }
}

const leavesFolder = /[^/]\/+\.\.(\/|$)/

/** For the kernel, `link/..` is the folder above the one that the link leads to, and not the one that the link is in. */
async function kernelPath(path: string, resolvePath: ResolvePath): Promise<string> {
  const parts = path.split("/")
  if (parts.filter((part) => part === "..").length > mostSteps) throw new Error("too many steps")
  let at = "/"
  for (const part of parts) at = absolutePath(part === ".." ? await resolvePath(at) : at, `./${part}`)
  return at
}

const mostSteps = 40
const unknownPath: PathSpellings = { spellings: [], isKnown: false }
