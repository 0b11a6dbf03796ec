import { existsSync } from "node:fs"
import { resolve } from "node:path"
import type { Environment, Files, Search, Shell } from "../../../contract/env.ts"
import { insidePath } from "../files/confine.ts"
import { nodeFiles } from "../files/files.ts"

/**
 * The same environment for one session: commands write long output to its folder, and its tools may read that folder
 * once it exists. No other session's folder becomes visible.
 */
export function withSessionFolder(env: Environment, folder: string): Environment {
  const { files, search, shell } = env
  const isInside = (path: string, cwd: string) => insidePath(folder, resolve(cwd, path)) !== undefined
  return {
    ...env,
    ...(files && { files: filesWith(files, folder, isInside) }),
    ...(search && { search: searchBeside(search, isInside) }),
    ...(shell && { shell: shellWith(shell, folder) }),
  }
}

type IsInside = (path: string, cwd: string) => boolean

function filesWith(files: Files, folder: string, isInside: IsInside): Files {
  let readable: Files | undefined
  /** Roots must exist, and most sessions never have this one. */
  const at = (path: string, cwd: string): Files => {
    if (!isInside(path, cwd) || !existsSync(folder)) return files
    readable ??= nodeFiles({ roots: [], readOnlyRoots: [folder] })
    return readable
  }
  return {
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
  return { find: async (request) => (isInside(request.path, request.cwd) ? undefined : search.find(request)) }
}

function shellWith(shell: Shell, outputFolder: string): Shell {
  return {
    isSandboxRequired: shell.isSandboxRequired === true,
    get containment() {
      return shell.containment
    },
    run: (command) => shell.run({ outputFolder, ...command }),
    start: (command) => shell.start({ outputFolder, ...command }),
    poll: (shellId) => shell.poll(shellId),
    stop: (shellId) => shell.stop(shellId),
    close: () => shell.close(),
  }
}
