import type { Item } from "../../src/backends/codex/protocol.ts"
import { Recording } from "../../src/backends/codex/recording.ts"
import type { BackendEvent, Stop, TurnHost } from "../../src/contract/backend.ts"
import type { Ephemeral } from "../../src/contract/event.ts"
import type { SteerMessage } from "../../src/contract/session.ts"
import { noUsage } from "../../src/lib/usage.ts"

/** `turns`: how many the host allows. */
interface RecordingFacts {
  readonly turns?: number
  readonly permitted?: readonly string[]
  readonly stopMs?: number
  readonly deltas?: boolean
  /** The messages of a person that Codex has. */
  readonly sent?: readonly SteerMessage[]
  /** What the host says at the end of a turn. */
  readonly atTurnEnd?: Stop
}

/** A recording of Codex's notifications, and all that it tells. */
export function recording({
  turns = 9,
  permitted = ["call_sim_0", "call_sim_2"],
  stopMs = 600_000,
  deltas = false,
  sent = [],
  atTurnEnd,
}: RecordingFacts = {}) {
  const events: (BackendEvent | { readonly type: string; readonly turn: number })[] = []
  const stops: Stop[] = []
  const failures: unknown[] = []
  const shown: Ephemeral[] = []
  /** Whether each answer that was completed had calls. */
  const ends: boolean[] = []
  const noted: Item[] = []
  const host: TurnHost = {
    deltas,
    beginTurn: async (turn) => {
      if (turn <= turns) events.push({ type: "begin", turn })
      return turn <= turns ? undefined : { reason: "limit" }
    },
    endTurn: async () => atTurnEnd,
    review: async () => undefined,
    emit: (event) => {
      events.push(event)
      return event
    },
    show: (event) => shown.push(event),
    alive: () => {},
    callTool: async () => ({ status: "ok", output: [] }),
    authorize: async () => ({ kind: "run", args: {} }),
    startsEarly: () => false,
    beginCompaction: async () => ({ text: "" }),
    endCompaction: async () => undefined,
  }
  const subject = new Recording(
    host,
    { turns: 0, model: "gpt-5", counted: noUsage, stopMs },
    {
      onHalt: (stop) => stops.push(stop),
      onFailure: (error) => failures.push(error),
      onStepEnd: (hadCalls) => ends.push(hadCalls),
      takeSteer: (clientId) => sent.find(({ id }) => id === clientId),
      onUsage: () => {},
      onStored: () => {},
      isPermitted: (callId) => permitted.includes(callId),
      isInterrupted: () => false,
      note: (item) => noted.push(item),
      onEscalation: () => {},
    },
  )
  return { subject, events, stops, failures, shown, ends, noted }
}
