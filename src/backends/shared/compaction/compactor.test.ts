import { expect, test } from "vitest"
import { allowEverything, RecordingHost } from "../../../../test/support/scripted-agent.ts"
import type { PastCompaction } from "../../../contract/compaction.ts"
import type { Message } from "../../../contract/message.ts"
import { fetchTransport } from "../../../lib/fetch-transport.ts"
import { defaultRetry } from "../../../lib/retry.ts"
import { scriptedModel } from "../../../testing/index.ts"
import { Controls } from "../controls.ts"
import { History } from "../history.ts"
import { Compactor } from "./compactor.ts"
import { ContextMeter } from "./meter.ts"
import { clippedResults } from "./plan.ts"

test("a compaction that cannot be recorded stops the run, and the conversation stays as the journal has it", async () => {
  const { compactor, host, controls, history, said } = compacting({ length: 10 })
  host.endCompaction = async () => undefined
  controls.askToCompact()
  expect(await compactor.beforeRequest(3)).toEqual({ reason: "interrupted" })
  expect(history.said).toEqual(said)
})

test("summaries of a smaller window are no sign that the conversation fills a larger one again and again", async () => {
  const recent = [1, 2, 3].map((turn) => ({ turn, window: 5_000, after: 7_000, hasHead: true }))
  const { compactor, history } = compacting({ length: 20_000, recent })
  expect(await compactor.beforeRequest(4)).toBeUndefined()
  expect(JSON.stringify(history.said)).toContain("Goal: sheep.")
})

test("control: summaries of the same window are one", async () => {
  const recent = [1, 2, 3].map((turn) => ({ turn, window: 10_000, after: 7_000, hasHead: true }))
  const { compactor } = compacting({ length: 20_000, recent })
  expect(await compactor.beforeRequest(4)).toMatchObject({ failure: { code: "compaction_stuck" } })
})

test.each([
  [7_700, "compaction_stuck"],
  [6_000, undefined],
])("after two compactions in a row that left %d of 8,000 usable tokens, a run ends with %s", async (after, code) => {
  const recent = [1, 2].map((turn) => ({ turn, window: 10_000, after, hasHead: false }))
  const { compactor } = compacting({ length: 20_000, recent })
  const stop = await compactor.beforeRequest(4)
  expect(stop?.reason === "failed" ? stop.failure.code : undefined).toBe(code)
})

test("a limit that is reached before a summary at the end of the run's conversation asks for none apart", async () => {
  const { compactor, host, controls, meter, model } = compacting({ length: 2_000, isOwn: true })
  meter.settle({ inputTokens: 1_000, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null })
  let begun = 0
  host.beginCompaction = async () => {
    begun++
    return { reason: "limit" }
  }
  controls.askToCompact()
  expect(await compactor.beforeRequest(4)).toEqual({ reason: "limit" })
  expect([begun, model.calls]).toEqual([1, []])
})

test("a summary that is aborted changes nothing: no extract takes its place", async () => {
  const scene = compacting({ length: 2_000, abortsAtRequest: true })
  scene.controls.askToCompact()
  expect(await scene.compactor.beforeRequest(4)).toEqual({ reason: "interrupted" })
  expect([scene.host.events, scene.history.said]).toEqual([[], scene.said])
})

test("results of the input are not clipped, whatever their length: they belong to no turn of the run", () => {
  const output = [{ type: "text", text: " sheep".repeat(9_000) }] as const
  const message: Message = { role: "tool", content: [{ type: "tool-result", callId: "c", status: "ok", output }] }
  const said = [{ turn: 0, message }]
  const context = { at: 0.8, window: 10_000 }
  const meter = new ContextMeter(new History(said), context, () => "", 100)
  expect(clippedResults(said, meter, "note")).toBeNull()
  expect(clippedResults([{ turn: 1, message }], meter, "note")).not.toBeNull()
})

interface Scene {
  readonly length: number
  readonly recent?: readonly PastCompaction[]
  /** The model writes its summaries at the end of the run's conversation. */
  readonly isOwn?: boolean
  /** The run is stopped while the model is asked. */
  readonly abortsAtRequest?: boolean
}

/** Three messages of this length, in a window of 10,000 tokens. */
function compacting({ length, recent = [], isOwn, abortsAtRequest }: Scene) {
  const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })
  const said = [0, 1, 2].map((turn) => ({ turn, message: user(`message ${turn}`.padEnd(length, " sheep")) }))
  const history = new History(said)
  const context = { at: 0.8, window: 10_000, isAssumed: false, said, recent, isAsked: true }
  const host = new RecordingHost(allowEverything)
  host.endCompaction = async (compaction) => compaction
  const controls = new Controls()
  const meter = new ContextMeter(history, context, () => "", 100)
  const model = scriptedModel([
    () => {
      if (abortsAtRequest) controls.interrupt("immediate")
      return "Goal: sheep."
    },
  ])
  const compactor = new Compactor({
    ...{ history, context, host, controls, retry: defaultRetry, canFetch: false, transport: fetchTransport() },
    ...{
      model,
      meter,
      conversation: isOwn ? model.converse({ tools: [], transport: fetchTransport() }) : undefined,
      instructions: undefined,
      bounds: { reset() {}, next: () => ({ inputTokens: 0, outputTokens: 0 }) },
    },
  })
  return { compactor, host, controls, history, said, meter, model }
}
