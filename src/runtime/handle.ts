import type { RunEvent } from "../contract/event.ts"
import type { RunHandle, RunInput } from "../contract/run.ts"
import type { InterruptMode } from "../contract/session.ts"
import { EventQueue } from "../lib/event-queue.ts"
import type { ResolvedConfig } from "./config.ts"
import { RunControls } from "./controls.ts"
import { runKey } from "./input.ts"
import { type Listener, Publisher } from "./publisher.ts"
import { executeRun } from "./run.ts"

/** Starts a run. `streamed`: its handle will be iterated, so events are kept until somebody reads them. */
export function startRun(config: ResolvedConfig, input: RunInput, streamed: boolean): RunHandle {
  const key = runKey(config, input)
  const controls = new RunControls()
  const events = new EventQueue<RunEvent>()
  const listeners: Listener[] = []
  if (input.onEvent) listeners.push(input.onEvent)
  if (streamed) listeners.push((event) => events.push(event))
  const result = executeRun(config, key, input, new Publisher(listeners), controls).finally(() => events.close())

  const interrupt = (mode: InterruptMode = "graceful") => {
    controls.stop({ kind: "cancel" }, mode)
  }
  return {
    runId: key.runId,
    nodeId: key.nodeId,
    result,
    interrupt,
    text: () => textOf(events),
    [Symbol.asyncIterator]: () => events[Symbol.asyncIterator](),
    async [Symbol.asyncDispose]() {
      interrupt("immediate")
      await result
    },
  }
}

async function* textOf(events: AsyncIterable<RunEvent>): AsyncGenerator<string> {
  for await (const event of events) if (event.type === "text-delta") yield event.delta
}
