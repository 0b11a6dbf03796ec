import type { Environment, FileGuard, Files } from "../contract/env.ts"
import { ToolError } from "../contract/tool.ts"
import { mayRead } from "../lib/access/file-guard.ts"
import type { ResolvePath } from "./rules/find-paths.ts"
import { absolutePath } from "./rules/path-pattern.ts"

/** The environment in which the guard checks every file and folder that is opened. */
export function guardFiles(
  { files, search, ...env }: Environment,
  guard: FileGuard,
  resolvePath: ResolvePath = async (path) => path,
): Environment {
  const guardedFiles = files && (files.guarded?.(guard) ?? guardedByName(files, guard, resolvePath))
  // Without a search that can be guarded, files are read one by one.
  const guardedSearch = search?.guarded?.(guard)
  return { ...env, ...(guardedFiles && { files: guardedFiles }), ...(guardedSearch && { search: guardedSearch }) }
}

/** For files that cannot be guarded where they are opened: checked before, as written and where the path leads. */
function guardedByName(files: Files, guard: FileGuard, resolvePath: ResolvePath): Files {
  const spellingsOf = async (path: string, cwd: string): Promise<readonly string[]> => {
    const absolute = absolutePath(cwd, path)
    // A path that cannot be resolved cannot be read either.
    return [absolute, await resolvePath(absolute).catch(() => absolute)]
  }
  const check = async (path: string, cwd: string, ...accesses: ("read" | "write")[]) => {
    const spellings = await spellingsOf(path, cwd)
    for (const access of accesses) for (const real of spellings) named(path, () => guard(real, access))
    return spellings
  }
  return {
    display: (path, cwd) => files.display(path, cwd),
    async info(path, cwd) {
      await check(path, cwd, "read")
      return files.info(path, cwd)
    },
    async read(path, cwd, range) {
      await check(path, cwd, "read")
      return files.read(path, cwd, range)
    },
    async list(path, cwd) {
      const folders = await check(path, cwd, "read")
      const entries = await files.list(path, cwd)
      return entries.filter(({ name }) => folders.every((folder) => mayRead(guard, absolutePath(folder, name))))
    },
    async write(path, cwd, bytes, options) {
      await check(path, cwd, "write")
      return files.write(path, cwd, bytes, options)
    },
    async update(path, cwd, change) {
      await check(path, cwd, "read", "write")
      return files.update(path, cwd, change)
    },
    async commit(changes, cwd) {
      for (const { path } of changes) await check(path, cwd, "write")
      return files.commit(changes, cwd)
    },
  }
}

/** An error names the path as its author knows it. */
function named(path: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    throw error instanceof ToolError ? new ToolError(error.code, `${path} ${error.message}.`) : error
  }
}
