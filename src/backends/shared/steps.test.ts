import { expect, test } from "vitest"
import { allowEverything, RecordingHost } from "../../../test/support/scripted-agent.ts"
import { Steps } from "./steps.ts"

test("an answer ends once: what ends it again records nothing, and asks nobody for another turn", async () => {
  const host = new RecordingHost(allowEverything)
  let asked = 0
  host.endTurn = async () => ++asked === 0
  const steps = new Steps(host, 0, "m")
  expect(await steps.end("end")).toBe(true)
  await steps.begin()
  expect(await steps.end("end")).toBe(false)
  expect(await steps.end("end")).toBe(true)
  steps.suspend()
  steps.addPartialText("late")
  expect(host.events).toMatchObject([{ type: "usage", turn: 1, stopReason: "end" }])
  expect(asked).toBe(1)
})
