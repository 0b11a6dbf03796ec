import type { OpenRun } from "./open-run.ts"
import type { SpawnEnd } from "./place.ts"

/** Notes why an agent has stopped before its end: the run pauses for that, and takes the agent up when it is resumed. */
export function leaveOpen(run: OpenRun, agent: Exclude<SpawnEnd, { readonly kind: "ended" }>): void {
  switch (agent.kind) {
    case "asked":
      // Only one question is asked at a time; an agent that asks another one waits with it.
      if (run.asked) return
      run.asked = agent.request
      run.journal.append(agent.request)
      return
    case "released":
      run.released = true
      return
    case "handover":
      run.handover ??= agent.text
      return
    case "lost":
      return
  }
}
