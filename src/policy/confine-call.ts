import type { PolicyCall } from "../contract/policy.ts"
import { isOurs } from "../lib/own-names.ts"
import type { ResolvePath } from "./rules/find-paths.ts"
import { usesOf } from "./rules/known-tools.ts"
import { absolutePath } from "./rules/path-pattern.ts"

/**
 * Why a file tool of another program must not run: one of its paths leads outside the workspace, or to the files that govern
 * runs. Our own tools check that themselves, on the opened file.
 */
export async function outsideWorkspace(
  call: PolicyCall,
  resolvePath: ResolvePath = async (path) => path,
): Promise<string | undefined> {
  const { read = [], write = [] } = await usesOf(call)
  if (read.length + write.length === 0) return undefined
  const { cwd, workspace } = call
  const root = await resolvePath(absolutePath("/", workspace))
  const start = absolutePath("/", cwd)
  for (const path of new Set([...read, ...write])) {
    if (path === undefined) return "one of its paths cannot be read"
    const real = await resolvePath(absolutePath(start, path)).catch(() => undefined)
    if (real === undefined) return `${path} cannot be resolved`
    if (real !== root && !real.startsWith(root === "/" ? root : `${root}/`)) return `${path} is outside the workspace`
    if (real.slice(root.length).split("/").some(isOurs)) return `${path} governs runs`
  }
  return undefined
}
