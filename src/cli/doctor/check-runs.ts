import { LonghaulError } from "../../contract/error.ts"
import type { Store } from "../../contract/store.ts"
import { isDead } from "../../hosts/node/owner.ts"
import { nodesPath, projectsPath, runPath } from "../../journal/paths.ts"
import { createReader, isVoidClaim } from "../../journal/reader.ts"
import { isId } from "../../lib/id.ts"

export interface Problem {
  readonly message: string
  readonly fix: string
}

/** Reads every journal of a store. Returns a problem for each run that cannot be read. */
export async function damagedRuns(store: Store): Promise<readonly Problem[]> {
  const problems: Problem[] = []
  for (const workspaceId of (await store.list("workspaces")).filter(isId)) {
    for (const runId of (await store.list(projectsPath(workspaceId))).filter(isId)) {
      for (const nodeId of (await store.list(nodesPath(workspaceId, runId))).filter(isId)) {
        const folder = store.folder(runPath({ workspaceId, runId, nodeId }))
        try {
          await createReader(folder, (_, taking) => isVoidClaim(folder, taking, isDead)).next()
        } catch (error) {
          if (!LonghaulError.is(error)) throw error
          const name = nodeId === "main" ? runId : `${runId} (node ${nodeId})`
          problems.push({
            message: `Run ${name} of workspace ${workspaceId} cannot be read. ${error.message}`,
            fix: `Restore ${folder.location} from a backup, or delete that folder to give up the run. The other runs are not affected.`,
          })
        }
      }
    }
  }
  return problems
}
