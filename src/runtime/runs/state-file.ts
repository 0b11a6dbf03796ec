import type { Folder } from "../../contract/store.ts"
import type { RunProjection } from "../../journal/projection.ts"

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
}

export async function writeState(folder: Folder, run: RunProjection, shard: number, beat: number): Promise<void> {
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
  }
  await folder.replace(STATE_FILE, new TextEncoder().encode(`${JSON.stringify(state)}\n`))
}

/** Returns the last heartbeat of the owner of this shard. */
export async function readBeat(folder: Folder, shard: number): Promise<number | null> {
  const bytes = await folder.read(STATE_FILE)
  if (bytes === null) return null
  try {
    // Safe: what is used of it is checked.
    const state = JSON.parse(new TextDecoder().decode(bytes)) as Partial<StateFile>
    return state.shard === shard && typeof state.beat === "number" ? state.beat : null
  } catch {
    return null
  }
}
