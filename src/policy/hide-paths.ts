import type { Environment, Files, Search } from "../contract/env.ts"
import { ToolError } from "../contract/tool.ts"
import type { ResolvePath } from "./rules/find-paths.ts"
import { absolutePath } from "./rules/path-pattern.ts"

/**
 * The environment without the paths that the policy hides, as written and as resolved: they are not listed, not found
 * and not read. For tools that show what is below a folder.
 */
export function hidePaths(
  env: Environment,
  hides: (path: string) => boolean,
  resolvePath: ResolvePath = async (path) => path,
): Environment {
  const spellingsOf = async (path: string, cwd: string): Promise<readonly string[]> => {
    const absolute = absolutePath(cwd, path)
    // A path that cannot be resolved cannot be read either.
    return [absolute, await resolvePath(absolute).catch(() => absolute)]
  }
  const refuseHidden = async (path: string, cwd: string): Promise<void> => {
    if (!(await spellingsOf(path, cwd)).some(hides)) return
    throw new ToolError("denied", `${path} is hidden by the policy.`)
  }
  return {
    ...env,
    ...(env.files && { files: hideFiles(env.files, { hides, spellingsOf, refuseHidden }) }),
    ...(env.search && { search: hideFound(env.search, { hides, spellingsOf }) }),
  }
}

interface Hidden {
  readonly hides: (path: string) => boolean
  readonly spellingsOf: (path: string, cwd: string) => Promise<readonly string[]>
  readonly refuseHidden: (path: string, cwd: string) => Promise<void>
}

function hideFiles(files: Files, { hides, spellingsOf, refuseHidden }: Hidden): Files {
  return {
    display: (path, cwd) => files.display(path, cwd),
    async info(path, cwd) {
      await refuseHidden(path, cwd)
      return files.info(path, cwd)
    },
    async read(path, cwd, range) {
      await refuseHidden(path, cwd)
      return files.read(path, cwd, range)
    },
    async list(path, cwd) {
      const folders = await spellingsOf(path, cwd)
      await refuseHidden(path, cwd)
      const entries = await files.list(path, cwd)
      return entries.filter(({ name }) => !folders.some((folder) => hides(`${folder}/${name}`)))
    },
    write: (path, cwd, bytes, options) => files.write(path, cwd, bytes, options),
    update: (path, cwd, change) => files.update(path, cwd, change),
    commit: (changes, cwd) => files.commit(changes, cwd),
  }
}

function hideFound(search: Search, { hides, spellingsOf }: Omit<Hidden, "refuseHidden">): Search {
  return {
    async find(request) {
      const folders = await spellingsOf(request.path, request.cwd)
      const found = await search.find(request)
      if (found === undefined) return undefined
      const isShown = (path: string) => !folders.some((folder) => hides(`${folder}/${path}`))
      return {
        paths: found.paths.filter(isShown),
        unreadable: found.unreadable.filter(isShown),
        read: async (path, limit) => (isShown(path) ? found.read(path, limit) : undefined),
        close: () => found.close(),
      }
    },
  }
}
