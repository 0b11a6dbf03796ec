import { existsSync } from "node:fs"
import { resolve, sep } from "node:path"
import type { Environment, FileGuard, Files, Search } from "../../../contract/env.ts"
import { bothGuards, noGuard } from "../../../lib/access/file-guard.ts"
import { shellWith } from "../../../lib/access/shell-with.ts"
import { insidePath } from "../files/confine.ts"
import { nodeFiles } from "../files/files.ts"

/**
 * The same environment for one session: commands write long output to its folder, and its tools may read that folder
 * once it exists, but no folder in it. No other session's folder becomes visible.
 */
export function withSessionFolder(env: Environment, folder: string): Environment {
  const { files, search, shell } = env
  const isInside = (path: string, cwd: string) => insidePath(folder, resolve(cwd, path))?.includes(sep) === false
  return {
    ...env,
    ...(files && { files: filesWith(files, folder, isInside) }),
    ...(search && { search: searchBeside(search, isInside) }),
    ...(shell && { shell: shellWith(shell, { outputFolder: folder }) }),
  }
}

type IsInside = (path: string, cwd: string) => boolean

function filesWith(files: Files, folder: string, isInside: IsInside, guard = noGuard): Files {
  let readable: Files | undefined
  /** Roots must exist, and most sessions never have this one. */
  const at = (path: string, cwd: string): Files => {
    if (!isInside(path, cwd) || !existsSync(folder)) return files
    if (readable === undefined) {
      const own = nodeFiles({ roots: [], readOnlyRoots: [folder] })
      readable = own.guarded?.(guard) ?? own
    }
    return readable
  }
  const guarded = files.guarded?.bind(files)
  return {
    ...(guarded && {
      guarded: (further: FileGuard) => filesWith(guarded(further), folder, isInside, bothGuards(guard, further)),
    }),
    display: (path, cwd) => at(path, cwd).display(path, cwd),
    info: (path, cwd) => at(path, cwd).info(path, cwd),
    read: (path, cwd, range) => at(path, cwd).read(path, cwd, range),
    list: (path, cwd) => at(path, cwd).list(path, cwd),
    write: (path, cwd, bytes, options) => at(path, cwd).write(path, cwd, bytes, options),
    update: (path, cwd, change) => at(path, cwd).update(path, cwd, change),
    commit: (changes, cwd) => files.commit(changes, cwd),
  }
}

/** The searcher knows only its own folders: files elsewhere are read. */
function searchBeside(search: Search, isInside: IsInside): Search {
  const guarded = search.guarded?.bind(search)
  return {
    ...(guarded && { guarded: (guard: FileGuard) => searchBeside(guarded(guard), isInside) }),
    find: async (request) => (isInside(request.path, request.cwd) ? undefined : search.find(request)),
  }
}
