import { isAbsolute, join, resolve } from "node:path"
import type { ArtifactStore } from "../../../contract/artifacts.ts"
import { LonghaulError } from "../../../contract/error.ts"
import type { Folder, RunKey, Store } from "../../../contract/store.ts"
import { runPath } from "../../../journal/paths.ts"
import { newNonce } from "../../../lib/id.ts"
import { sha256 } from "../../../lib/sha256.ts"
import { runScope } from "../../../lib/tenant/run-keys.ts"
import { createOnlyStore } from "./fs-store.ts"
import { withSessionFolder } from "./session-folder.ts"

/**
 * Artifacts next to their run. If runs are not on this disk, none are stored, since no tool could read them; long
 * command output is then in a folder of that run below `spillFolder`.
 */
export function artifactsBeside(store: Store, spillFolder: string): ArtifactStore {
  if (isAbsolute(store.location)) return folderArtifacts((run) => store.folder(`${runPath(run)}/toolResults`))
  const nameOf = (run: RunKey) => sha256(JSON.stringify([run.tenant ?? store.location, runPath(run)])).slice(0, 32)
  return {
    save: async () => null,
    environment: (env, run) => withSessionFolder(env, join(spillFolder, nameOf(run))),
  }
}

/** Artifacts in a separate folder, at `{folder}/tool-output/{runId}/`: there each tenant has a folder of its own. */
export function artifactsIn(folder: string): ArtifactStore {
  const store = createOnlyStore(resolve(folder))
  return folderArtifacts((run) => store.folder(`tool-output/${folderName(run)}`))
}

/** A run that an older version began keeps its folder. Ids contain no dot, so no run of the default workspace has such a name. */
function folderName(run: RunKey): string {
  const { tenant, workspaceId, runId } = run
  if (tenant !== undefined) return runScope(tenant, run)
  return workspaceId === "default" ? runId : `${workspaceId}.${runId}`
}

/** Each file is written once, completely and for its owner only; the run's own tools may read all of its folder. */
function folderArtifacts(folderOf: (run: RunKey) => Folder): ArtifactStore {
  return {
    async save(run, { filename, bytes }) {
      const folder = folderOf(run)
      // The same call may have been tried before.
      for (const name of [filename, `${newNonce().slice(0, 8)}-${filename}`]) {
        if ((await folder.create(name, bytes)) === "created") return `${folder.location}/${name}`
      }
      throw new LonghaulError("storage", `The file ${filename} already exists.`)
    },
    environment: (env, run) => withSessionFolder(env, folderOf(run).location),
  }
}
