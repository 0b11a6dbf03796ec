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
  if (env.files === undefined) return env
  const files = new FilesBeside(env.files, folder)
  return { ...env, files, ...(env.search && { search: new SearchBeside(env.search, files) }) }
}

/** What lies in the folder is read there, and all the rest is where it was. */
class FilesBeside implements Files {
  readonly #files: Files
  readonly #folder: string
  #readable: Files | undefined

  constructor(files: Files, folder: string) {
    this.#files = files
    this.#folder = folder
  }

  isInside(path: string, cwd: string): boolean {
    return insidePath(this.#folder, resolve(cwd, path)) !== undefined
  }

  display(path: string, cwd: string) {
    return this.#at(path, cwd).display(path, cwd)
  }

  info(path: string, cwd: string) {
    return this.#at(path, cwd).info(path, cwd)
  }

  read(path: string, cwd: string, range?: Parameters<Files["read"]>[2]) {
    return this.#at(path, cwd).read(path, cwd, range)
  }

  list(path: string, cwd: string) {
    return this.#at(path, cwd).list(path, cwd)
  }

  write(path: string, cwd: string, bytes: Uint8Array, options?: Parameters<Files["write"]>[3]) {
    return this.#at(path, cwd).write(path, cwd, bytes, options)
  }

  update(path: string, cwd: string, change: Parameters<Files["update"]>[2]) {
    return this.#at(path, cwd).update(path, cwd, change)
  }

  commit(changes: Parameters<Files["commit"]>[0], cwd: string) {
    return this.#files.commit(changes, cwd)
  }

  /** Roots must exist, and most runs never have this one. */
  #at(path: string, cwd: string): Files {
    if (!this.isInside(path, cwd) || !existsSync(this.#folder)) return this.#files
    this.#readable ??= nodeFiles({ roots: [], readOnlyRoots: [this.#folder] })
    return this.#readable
  }
}

/** The searcher knows only its own folders: what lies elsewhere is read. */
class SearchBeside implements Search {
  readonly #search: Search
  readonly #files: FilesBeside

  constructor(search: Search, files: FilesBeside) {
    this.#search = search
    this.#files = files
  }

  async find(request: Parameters<Search["find"]>[0]) {
    return this.#files.isInside(request.path, request.cwd) ? undefined : this.#search.find(request)
  }
}
