import { expect, test } from "vitest"
import { PiHost, run, say, send } from "../../../test/support/scripted-pi.ts"
import type { PiPart } from "./shapes.ts"

test("a session that is stopped after Pi's agent started, but before its first request, reserves nothing and sends nothing", async () => {
  const host = new PiHost()
  host.alive = () => host.session?.interrupt("graceful")
  const { stop, requests } = await run([[say("Hello.")]], host)
  expect(stop).toEqual({ reason: "interrupted" })
  expect([requests, host.bounds]).toEqual([0, []])
})

test("a session that is stopped during a call does not start the next call of the same answer", async () => {
  const host = new PiHost()
  const { callTool } = host
  host.callTool = (call) => {
    host.session?.interrupt("graceful")
    return callTool.call(host, call)
  }
  const other: PiPart = { type: "toolCall", id: "w2", name: "send", arguments: { to: "Eve" } }
  const { stop, requests } = await run([[send, other], [say("Sent.")]], host)
  expect(stop).toEqual({ reason: "interrupted" })
  expect([requests, host.ran]).toEqual([1, [["send", { to: "Ada" }]]])
})

test("a session ends with the runtime's reason if that ends the run after a turn", async () => {
  const host = new PiHost()
  host.endTurn = async () => ({ reason: "limit" })
  const { stop, requests } = await run([[send], [say("Sent.")]], host)
  expect(stop).toEqual({ reason: "limit" })
  expect(requests).toBe(1)
})

test.each([
  ["keeps the text", [say("Once "), say("upon")], ["text Once upon (partial)"]],
  ["keeps no empty text", [], []],
])("a session whose answer was stopped %s", async (_, content, told) => {
  const { host } = await run([{ content, stopReason: "aborted" }])
  expect(host.told).toEqual(told)
})

test("a session whose conversation cannot be shortened reserves no further request", async () => {
  const { stop, host } = await run([{ content: [], stopReason: "error", errorMessage: "413 prompt is too long" }])
  expect(stop).toMatchObject({ reason: "failed", failure: { code: "context_overflow" } })
  expect(host.bounds).toHaveLength(1)
})

test.each([
  ["500 It broke.", false, "provider_error"],
  ["It broke.", false, "network"],
  ["It broke.", true, "context_overflow"],
] as const)(
  "a request that fails with %j, which Pi takes for too long: %s, fails as %s",
  async (errorMessage, isContextOverflow, code) => {
    const answer = { content: [], stopReason: "error", errorMessage }
    const { stop, requests } = await run([answer], new PiHost(), {}, { isContextOverflow: () => isContextOverflow })
    expect(stop).toMatchObject({ reason: "failed", failure: { code, message: errorMessage } })
    expect(requests).toBe(1)
  },
)
