import { existsSync } from "node:fs"
import { isAbsolute, resolve } from "node:path"
import type { ArtifactStore } from "../../contract/artifacts.ts"
import type { Environment, Files, Search } from "../../contract/env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Folder, RunKey, Store } from "../../contract/store.ts"
import { runPath } from "../../journal/paths.ts"
import { newNonce } from "../../lib/id.ts"
import { insidePath } from "./confine.ts"
import { nodeFiles } from "./files.ts"
import { createOnlyStore } from "./fs-store.ts"

/** Artifacts beside the run that they belong to; undefined where runs are not on this disk, so that no tool could read them. */
export function artifactsBeside(store: Store): ArtifactStore | undefined {
  if (!isAbsolute(store.location)) return undefined
  return folderArtifacts((run) => store.folder(`${runPath(run)}/toolResults`))
}

/** Artifacts in a folder of their own, at `{folder}/tool-output/{runId}/`. */
export function artifactsIn(folder: string): ArtifactStore {
  const store = createOnlyStore(resolve(folder))
  return folderArtifacts(({ runId }) => store.folder(`tool-output/${runId}`))
}

/** Each file is written once, whole and for its owner alone; the run's own tools may read all of its folder. */
function folderArtifacts(folderOf: (run: RunKey) => Folder): ArtifactStore {
  return {
    async save(run, { filename, bytes }) {
      const folder = folderOf(run)
      // The same call may have been tried before.
      for (const name of [filename, `${newNonce().slice(0, 8)}-${filename}`]) {
        if ((await folder.create(name, bytes)) === "created") return `${folder.location}/${name}`
      }
      throw new LonghaulError("storage", `There is a file ${filename} already.`)
    },
    environment: (env, run) => withReadable(env, folderOf(run).location),
  }
}

/** The same environment, in which a folder may be read once it is there. */
function withReadable(env: Environment, folder: string): Environment {
  const { files, search } = env
  if (files === undefined) return env
  let readable: Files | undefined
  const isInside = (path: string, cwd: string) => insidePath(folder, resolve(cwd, path)) !== undefined
  /** Roots must exist, and most runs never have this one. */
  const at = (path: string, cwd: string): Files => {
    if (!isInside(path, cwd) || !existsSync(folder)) return files
    readable ??= nodeFiles({ roots: [], readOnlyRoots: [folder] })
    return readable
  }
  return {
    ...env,
    files: {
      display: (path, cwd) => at(path, cwd).display(path, cwd),
      info: (path, cwd) => at(path, cwd).info(path, cwd),
      read: (path, cwd, range) => at(path, cwd).read(path, cwd, range),
      list: (path, cwd) => at(path, cwd).list(path, cwd),
      write: (path, cwd, bytes, options) => at(path, cwd).write(path, cwd, bytes, options),
      update: (path, cwd, change) => at(path, cwd).update(path, cwd, change),
      commit: (changes, cwd) => files.commit(changes, cwd),
    },
    ...(search && { search: searchBeside(search, isInside) }),
  }
}

/** The searcher knows only its own folders: what lies elsewhere is read. */
function searchBeside(search: Search, isInside: (path: string, cwd: string) => boolean): Search {
  return { find: async (request) => (isInside(request.path, request.cwd) ? undefined : search.find(request)) }
}
