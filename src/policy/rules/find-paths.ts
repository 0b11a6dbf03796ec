import type { PolicyCall } from "../../contract/policy.ts"
import type { Part } from "./known-tools.ts"
import { type PathBases, type PathSpellings, readingsOf, spell } from "./path-pattern.ts"

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
      const readings = readingsOf(path, bases)
      const real: string[] = []
      for (const reading of resolvePath === undefined ? [] : readings) {
        try {
          real.push((await resolvePath?.(reading)) ?? reading)
        } catch {
          isUnresolved = true
        }
      }
      paths.push(spell(path, readings, real, bases))
    }
    return { paths, isUnresolved, bases }
  }
}

const mostWorkspaces = 100
const unknownPath: PathSpellings = { spellings: [], isKnown: false }
