import { expect, test } from "vitest"
import { allowEverything, RecordingHost } from "../../../../test/support/scripted-agent.ts"
import type { Message } from "../../../contract/message.ts"
import { fetchTransport } from "../../../lib/fetch-transport.ts"
import { defaultRetry } from "../../../lib/retry.ts"
import { scriptedModel } from "../../../testing/index.ts"
import { Controls } from "../controls.ts"
import { History } from "../history.ts"
import { Compactor } from "./compactor.ts"
import { ContextMeter } from "./meter.ts"

test("a compaction that cannot be recorded stops the run, and the conversation stays as the journal has it", async () => {
  const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })
  const said = [0, 1, 2].map((turn) => ({ turn, message: user(`message ${turn}`) }))
  const history = new History(said)
  const context = { at: 0.8, window: 1000, isAssumed: false, said, recent: [], isAsked: true }
  const host = new RecordingHost(allowEverything)
  host.endCompaction = async () => undefined
  const controls = new Controls()
  const compactor = new Compactor({
    ...{ history, context, host, controls, retry: defaultRetry, canFetch: false, transport: fetchTransport() },
    ...{ model: scriptedModel(["Goal: sheep."]), instructions: undefined, bounds: { reset() {} } },
    meter: new ContextMeter(history, context, () => "", 10),
  })
  controls.askToCompact()
  expect(await compactor.beforeRequest(3)).toEqual({ reason: "interrupted" })
  expect(history.said).toEqual(said)
})
