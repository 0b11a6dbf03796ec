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

/** Three messages of this length, in a window of 10,000 tokens. */
function compacting({ length, recent = [] }: { readonly length: number; readonly recent?: readonly PastCompaction[] }) {
  const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })
  const said = [0, 1, 2].map((turn) => ({ turn, message: user(`message ${turn}`.padEnd(length, " sheep")) }))
  const history = new History(said)
  const context = { at: 0.8, window: 10_000, isAssumed: false, said, recent, isAsked: true }
  const host = new RecordingHost(allowEverything)
  host.endCompaction = async (compaction) => compaction
  const controls = new Controls()
  const compactor = new Compactor({
    ...{ history, context, host, controls, retry: defaultRetry, canFetch: false, transport: fetchTransport() },
    ...{
      model: scriptedModel(["Goal: sheep."]),
      instructions: undefined,
      bounds: { reset() {}, next: () => ({ inputTokens: 0, outputTokens: 0 }) },
    },
    meter: new ContextMeter(history, context, () => "", 100),
  })
  return { compactor, host, controls, history, said }
}
