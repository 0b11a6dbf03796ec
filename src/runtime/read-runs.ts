import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import type { RunState, RunSummary } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { nodesPath, projectsPath, runPath } from "../journal/paths.ts"
import { project, type RunProjection } from "../journal/projection.ts"
import { createReader } from "../journal/reader.ts"
import { resultOf, resultWithout, summaryOf } from "../journal/result.ts"
import { isId } from "../lib/id.ts"
import type { ResolvedConfig } from "./config.ts"

/** A run as the journal has it. */
export async function readRun(config: ResolvedConfig, key: RunKey): Promise<RunState> {
  const found = await load(config, key)
  if (found) return resultOf(found.projection, { path: found.path, lastShard: found.lastShard })
  const missing = new LonghaulError(
    "not_found",
    `There is no run ${key.runId} (node ${key.nodeId}) in this workspace.`,
    {
      fix: "Check the id, the node and the workspace.",
    },
  )
  return resultWithout("not_found", key, missing, config.store.location)
}

export async function* readEvents(config: ResolvedConfig, key: RunKey, after = -1): AsyncGenerator<RunRecord> {
  const reader = createReader(config.store.folder(runPath(key)))
  for (const record of await reader.next()) if (record.seq > after) yield record
}

/** Every run of the workspace, newest first. */
export async function listRuns(config: ResolvedConfig): Promise<RunSummary[]> {
  const { store, workspaceId } = config
  const summaries: RunSummary[] = []
  // Other programs leave files of their own in folders; what cannot be a run is none.
  for (const runId of (await store.list(projectsPath(workspaceId))).filter(isId)) {
    for (const nodeId of (await store.list(nodesPath(workspaceId, runId))).filter(isId)) {
      const found = await load(config, { workspaceId, runId, nodeId })
      if (found) summaries.push(summaryOf(found.projection))
    }
  }
  return summaries.sort((left, right) => right.startedAt - left.startedAt)
}

async function load(
  config: ResolvedConfig,
  key: RunKey,
): Promise<{ projection: RunProjection; path: string; lastShard: number } | null> {
  const folder = config.store.folder(runPath(key))
  const reader = createReader(folder)
  const records = await reader.next()
  if (records.length === 0) return null
  const projection = project(records)
  if (reader.unsettled) {
    projection.warnings.push({
      code: "takeover_under_way",
      message: "The newest records cannot be told until it is over.",
    })
  }
  if (reader.droppedBytes > 0) {
    const message = `${reader.droppedBytes} bytes of an unfinished write are not counted; the run may still be at it.`
    projection.warnings.push({ code: "journal_tail_unfinished", message })
  }
  return { projection, path: folder.location, lastShard: reader.top }
}
