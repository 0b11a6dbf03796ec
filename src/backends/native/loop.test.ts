import { expect, test } from "vitest"
import { allowEverything, RecordingHost } from "../../../test/support/scripted-agent.ts"
import type { Stop } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Conversation } from "../../contract/provider.ts"
import { defaultRetry } from "../../lib/retry.ts"
import type { Compactor } from "../shared/compaction/compactor.ts"
import { ContextMeter } from "../shared/compaction/meter.ts"
import { Controls } from "../shared/controls.ts"
import { History } from "../shared/history.ts"
import { TurnBounds } from "../shared/turn-bounds.ts"
import { runLoop } from "./loop.ts"

/** A run whose model refuses each request, and that is stopped gracefully after the first one. */
async function stoppedAfter(code: "overloaded" | "context_overflow", failure?: Stop) {
  const seen = { begun: 0, asked: 0 }
  const controls = new Controls()
  const history = new History()
  const conversation: Conversation = {
    async call() {
      seen.asked++
      throw new LonghaulError(code, "no", { retryable: code === "overloaded" })
    },
  }
  const host = new RecordingHost(allowEverything)
  host.beginTurn = async () => (++seen.begun < 5 ? undefined : { reason: "limit" })
  host.emit = (event) => {
    if (event.type === "retry" && code === "overloaded") controls.interrupt("graceful")
    return event
  }
  const shorten = async () => failure ?? controls.interrupt("graceful")
  // Safe: the loop uses nothing else of it.
  const compactor = { beforeRequest: async () => undefined, onOverflow: shorten } as unknown as Compactor
  const meter = new ContextMeter(history, { at: 0.8, window: 1000 }, () => "", 10)
  const stop = await runLoop({
    ...{ history, conversation, controls, host, compaction: { compactor, meter }, origin: "p:m", turnsBefore: 0 },
    bounds: new TurnBounds(history, () => 0, 10),
    retry: { ...defaultRetry, firstMs: 1 },
  })
  return { stop, ...seen }
}

test("a run that is stopped while it waits for its next attempt pays for none", async () => {
  expect(await stoppedAfter("overloaded")).toEqual({ stop: { reason: "interrupted" }, begun: 1, asked: 1 })
})

test("a run that is stopped while its conversation is shortened does not ask again", async () => {
  expect(await stoppedAfter("context_overflow")).toEqual({ stop: { reason: "interrupted" }, begun: 1, asked: 1 })
})

test("a run whose conversation cannot be shortened ends with the reason, and does not ask again", async () => {
  const failure = { code: "compaction_stuck", message: "It is too long.", retryable: false } as const
  const stop = { reason: "failed", failure } as const
  expect(await stoppedAfter("context_overflow", stop)).toEqual({ stop, begun: 1, asked: 1 })
})
