import type { RunEvent } from "../contract/event.ts"
import type { RunResult } from "../contract/result.ts"
import type { RunHandle, RunInput } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { contain } from "../lib/contained.ts"
import { Metering } from "../observe/metering.ts"
import type { ResolvedConfig } from "./config.ts"
import { RunControls } from "./controls.ts"
import { EventQueue } from "./event-queue.ts"
import type { Ledger } from "./ledger.ts"
import type { Opening, OpenRun } from "./open-run.ts"
import { type Listener, Publisher } from "./publisher.ts"
import { executeRun } from "./run.ts"

/** How a run is to be started, beside how it is opened. */
export interface StartOptions extends Pick<RunInput, "onEvent" | "onProgress" | "signal"> {
  /** Its handle will be iterated, so events are kept until somebody reads them. */
  readonly streamed: boolean
  /** Shared with others; default: one of its own. */
  readonly ledger?: Ledger
  /** Waits until it may begin; answers what to call when it is over. */
  readonly turn?: (controls: RunControls) => Promise<() => void>
  /** It has begun. Answers what to do when it is over. */
  opened(run: OpenRun): () => Promise<void>
}

export function startRun(
  config: ResolvedConfig,
  key: RunKey,
  opening: () => Promise<Opening>,
  options: StartOptions,
): RunHandle {
  const { onEvent, onProgress, signal, ledger, opened } = options
  const controls = new RunControls()
  const events = new EventQueue<RunEvent>()
  const listeners = config.observers.map((observer) => observing(observer, key))
  if (onEvent) listeners.push({ deltas: true, hear: onEvent })
  if (onProgress) listeners.push(progressing(onProgress))
  if (options.streamed) listeners.push({ deltas: true, hear: (event) => events.push(event) })
  const publisher = new Publisher(listeners)
  let over = false
  const seat = { publisher, controls, ...(signal && { signal }), ...(ledger && { ledger }), opened }
  const run = () => executeRun(config, key, opening, seat)
  const result = (options.turn ? inTurn(options.turn, controls, run) : run()).finally(() => {
    over = true
    events.close()
  })

  return {
    runId: key.runId,
    nodeId: key.nodeId,
    result,
    interrupt: (mode = "graceful") => !over && controls.stop({ kind: "cancel" }, mode),
    steer: (text) => !over && controls.steer(text),
    text: () => textOf(events),
    [Symbol.asyncIterator]: () => events[Symbol.asyncIterator](),
    async [Symbol.asyncDispose]() {
      controls.stop({ kind: "cancel" }, "immediate")
      await result
    },
  }
}

async function inTurn(
  turn: NonNullable<StartOptions["turn"]>,
  controls: RunControls,
  run: () => Promise<RunResult>,
): Promise<RunResult> {
  const leave = await turn(controls)
  try {
    return await run()
  } finally {
    leave()
  }
}

function observing(observer: ResolvedConfig["observers"][number], { runId, nodeId }: RunKey): Listener {
  const run = { runId, nodeId }
  const metering = observer.recordMetric ? new Metering() : undefined
  return {
    deltas: observer.deltas !== false,
    hear(event) {
      const recorded: unknown = observer.recordEvent(event, run)
      if (metering === undefined || !("seq" in event)) return recorded
      for (const metric of metering.metricsOf(event)) contain(() => observer.recordMetric?.(metric, run))
      return recorded
    },
  }
}

/** In words, for hosts that only want to show that something happens. */
function progressing(onProgress: (message: string) => void): Listener {
  let turns = 0
  return {
    deltas: false,
    hear(event): unknown {
      if (event.type === "run-start") turns = event.limits.turns
      if (event.type === "text-end") return onProgress(event.text)
      if (event.type === "turn-end") return onProgress(`Turn ${event.turn} of at most ${turns} is complete.`)
    },
  }
}

async function* textOf(events: AsyncIterable<RunEvent>): AsyncGenerator<string> {
  for await (const event of events) if (event.type === "text-delta") yield event.delta
}
