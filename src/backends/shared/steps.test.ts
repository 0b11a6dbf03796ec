import { expect, test } from "vitest"
import { allowEverything, RecordingHost } from "../../../test/support/scripted-agent.ts"
import { Steps } from "./steps.ts"

test("an answer ends once: what ends it again records nothing, and asks nobody for another turn", async () => {
  const host = new RecordingHost(allowEverything)
  let asked = 0
  host.endTurn = async () => (++asked === 0 ? undefined : { reason: "ended" })
  const steps = new Steps(host, 0, "m")
  expect(await steps.end("end")).toBeUndefined()
  await steps.begin()
  expect(await steps.end("end")).toEqual({ reason: "ended" })
  expect(await steps.end("end")).toBeUndefined()
  steps.suspend()
  steps.addPartialText("late")
  expect(host.events).toMatchObject([{ type: "usage", turn: 1, stopReason: "end" }])
  expect(asked).toBe(1)
})

test.each([
  ["without a call is none, so that its turn begins again", false, []],
  ["with a call is a turn: it may have had an effect", true, ["tool-calls"]],
])("an answer that is left %s", async (_, hasCall, ended) => {
  const host = new RecordingHost(allowEverything)
  const steps = new Steps(host, 0, "m")
  await steps.begin()
  steps.addCall({ callId: "earlier", name: "Bash", args: {} }, "backend")
  await steps.end("tool-calls")
  host.events.length = 0
  await steps.begin()
  if (hasCall) steps.addCall({ callId: "a", name: "Bash", args: {} }, "backend")
  steps.suspend()
  const usages = host.events.flatMap((event) => (event.type === "usage" ? [event.stopReason] : []))
  expect(usages).toEqual(ended)
})
