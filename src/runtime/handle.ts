import type { RunEvent } from "../contract/event.ts"
import type { RunResult } from "../contract/result.ts"
import type { RunHandle, RunInput } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { onAbort } from "../lib/abort.ts"
import { contain } from "../lib/contained.ts"
import { checkArgument, words } from "../lib/schema/shape.ts"
import { Metering } from "../observe/metering.ts"
import { RunControls } from "../run/state/controls.ts"
import type { OpenRun, RunServices } from "../run/state/open-run.ts"
import type { Opening } from "../run/state/opening.ts"
import { type Listener, Publisher } from "../run/state/publisher.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { EventQueue } from "./event-queue.ts"

export interface StartOptions extends Pick<RunInput, "onEvent" | "onProgress" | "signal"> {
  /** The caller will iterate the handle, so events are kept until they are read. */
  readonly streamed: boolean
  readonly services: RunServices
  /** Waits for a slot. Resolves with the function that frees it. */
  readonly takeSlot?: ((controls: RunControls) => Promise<() => void>) | undefined
  /** Called once the run has started. Returns a function that is called when the run has ended. */
  opened(run: OpenRun): () => Promise<void>
}

/** A run in this process: its handle for the caller, and a way for others to follow its events. */
export interface StartedHandle {
  readonly handle: RunHandle
  /** Returns the function that removes the listener. */
  subscribe(listener: Listener): () => void
}

export function startRun(
  config: ResolvedConfig,
  key: RunKey,
  opening: () => Promise<Opening>,
  options: StartOptions,
): StartedHandle {
  const { signal, services, opened } = options
  const controls = new RunControls()
  const unlink = onAbort(signal, () => controls.stop({ kind: "cancel" }, "immediate"))
  const events = new EventQueue<RunEvent>()
  const publisher = new Publisher(listenersOf(config, key, options, events))
  let over = false
  const run = () => services.execute(config, key, opening, { publisher, controls, position: { services }, opened })
  const result = (options.takeSlot ? inSlot(options.takeSlot, controls, run) : run()).finally(() => {
    over = true
    unlink()
    events.close()
  })

  const handle: RunHandle = {
    runId: key.runId,
    nodeId: key.nodeId,
    result,
    interrupt(mode = "graceful") {
      checkArgument("mode", mode, words("graceful", "immediate"))
      return !over && controls.stop({ kind: "cancel" }, mode)
    },
    release: () => !over && controls.release(),
    steer(text) {
      checkArgument("text", text, "text")
      return !over && controls.steer(config.redactorOf([], {}, key).text(text))
    },
    compact: () => !over && controls.compact(),
    text: () => textOf(events),
    [Symbol.asyncIterator]: () => events[Symbol.asyncIterator](),
    async [Symbol.asyncDispose]() {
      controls.stop({ kind: "cancel" }, "immediate")
      await result
    },
  }
  return { handle, subscribe: (listener) => publisher.subscribe(listener) }
}

async function inSlot(
  takeSlot: NonNullable<StartOptions["takeSlot"]>,
  controls: RunControls,
  run: () => Promise<RunResult>,
): Promise<RunResult> {
  const freeSlot = await takeSlot(controls)
  try {
    return await run()
  } finally {
    freeSlot()
  }
}

function listenersOf(
  config: ResolvedConfig,
  key: RunKey,
  { onEvent, onProgress, streamed }: StartOptions,
  events: EventQueue<RunEvent>,
): readonly Listener[] {
  return [
    ...config.observers.map((observer) => observing(observer, key)),
    ...(onEvent ? [{ deltas: true, receive: onEvent }] : []),
    ...(onProgress ? [progressing(onProgress)] : []),
    ...(streamed ? [{ deltas: true, receive: (event: RunEvent) => events.push(event) }] : []),
  ]
}

function observing(observer: ResolvedConfig["observers"][number], { workspaceId, runId, nodeId }: RunKey): Listener {
  const run = { workspaceId, runId, nodeId }
  const meterings = new Map<string | undefined, Metering>()
  return {
    deltas: observer.deltas !== false,
    receive(event) {
      const recorded: unknown = observer.recordEvent(event, run)
      if (!observer.recordMetric || !("seq" in event)) return recorded
      const metering = meterings.get(event.agent) ?? new Metering()
      meterings.set(event.agent, metering)
      for (const metric of metering.metricsOf(event)) contain(() => observer.recordMetric?.(metric, run))
      return recorded
    },
  }
}

/** Reports progress as sentences, for hosts that show text only. */
function progressing(onProgress: (message: string) => void): Listener {
  let turns = 0
  return {
    deltas: false,
    receive(event): unknown {
      if (event.agent !== undefined) return
      if (event.type === "run-start") turns = event.limits.turns
      if (event.type === "text-end") return onProgress(event.text)
      if (event.type === "turn-end") return onProgress(`Turn ${event.turn} of at most ${turns} is complete.`)
    },
  }
}

async function* textOf(events: AsyncIterable<RunEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type === "text-delta" && event.agent === undefined) yield event.delta
  }
}
