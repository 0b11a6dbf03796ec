import type { Folder } from "../contract/store.ts"
import { shardName } from "../journal/paths.ts"
import type { RunProjection } from "../journal/projection.ts"
import { unreferenced } from "../lib/abort.ts"

/** The state of a run for observers of its folder, and the owner's heartbeat. The journal alone is authoritative. */
const STATE_FILE = "state.json"

interface StateFile {
  readonly version: 1
  readonly runId: string
  readonly nodeId: string
  readonly status: RunProjection["status"]
  readonly startedAt: number
  readonly lastHeartbeat: number
  readonly progress: {
    readonly turns: number
    readonly tokensUsed: number
    readonly currentActivity: "idle" | "streaming" | "tool_dispatch" | "compacting"
    readonly lastTool?: string
  }
  /** The shard of the owner that wrote the file. A fenced owner writes an older one. */
  readonly shard: number
  readonly beat: number
  /** The owner is alive and can no longer write the journal: no process works on the run. */
  readonly lost?: true
}

export async function writeState(
  folder: Folder,
  run: RunProjection,
  shard: number,
  beat: number,
  lost = false,
): Promise<void> {
  const { now, lastTool } = run.activity
  const state: StateFile = {
    version: 1,
    runId: run.runId,
    nodeId: run.nodeId,
    status: run.status,
    startedAt: run.startedAt,
    lastHeartbeat: Date.now(),
    progress: {
      turns: run.turns,
      tokensUsed: run.spent.tokens,
      currentActivity: now,
      ...(lastTool !== undefined && { lastTool }),
    },
    shard,
    beat,
    ...(lost && { lost }),
  }
  await folder.replace(STATE_FILE, new TextEncoder().encode(`${JSON.stringify(state)}\n`))
}

/** Returns the last heartbeat of the owner of this shard; `lost` if the owner has given up. */
export async function readBeat(folder: Folder, shard: number): Promise<number | "lost" | null> {
  const bytes = await folder.read(STATE_FILE)
  if (bytes === null) return null
  try {
    // Safe: what is used of it is checked.
    const state = JSON.parse(new TextDecoder().decode(bytes)) as Partial<StateFile>
    if (state.shard !== shard) return null
    if (state.lost) return "lost"
    return typeof state.beat === "number" ? state.beat : null
  } catch {
    return null
  }
}

/**
 * Informs other processes that the owner of this shard, which is alive, has lost its store. Tried again until the store takes it, or
 * another process has the run.
 */
export async function reportLoss(folder: Folder, run: RunProjection, shard: number): Promise<void> {
  for (let waitMs = FIRST_WAIT_MS; waitMs <= MAX_WAIT_MS; waitMs *= 2) {
    try {
      if (await folder.exists(shardName(shard + 1))) return
      await writeState(folder, run, shard, 0, true)
      return
    } catch {
      await new Promise((resolve) => unreferenced(setTimeout(resolve, waitMs)))
    }
  }
}

const FIRST_WAIT_MS = 100
/** After it, a sum of about an hour, the lease or the end of this process informs the others. */
const MAX_WAIT_MS = 1_800_000
