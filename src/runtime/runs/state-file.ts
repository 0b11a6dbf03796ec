import type { Folder } from "../../contract/store.ts"
import type { RunProjection } from "../../journal/projection.ts"

/** A view of a run for whoever watches its folder, and its owner's sign of life. Never truth: that is the journal. */
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
    readonly currentActivity: "idle" | "streaming" | "tool_dispatch"
    readonly lastTool?: string
  }
  /** Of the shard that its writer owned: what a fenced owner still writes names an older one. */
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

/** The owner's last sign of life, if it is of the one who owns this shard. */
export async function readBeat(folder: Folder, shard: number): Promise<number | null> {
  const bytes = await folder.read(STATE_FILE)
  if (bytes === null) return null
  try {
    const state = JSON.parse(new TextDecoder().decode(bytes)) as Partial<StateFile>
    return state.shard === shard && typeof state.beat === "number" ? state.beat : null
  } catch {
    return null
  }
}
