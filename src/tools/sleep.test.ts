import { afterEach, expect, test, vi } from "vitest"
import type { ToolContext } from "../contract/tool.ts"
import { createDispatcher, sleepTool } from "./index.ts"
import { createToolContext } from "./kernel/tool-context.ts"

afterEach(() => {
  vi.useRealTimers()
})

const dispatcher = createDispatcher([sleepTool()])

function contextWith(signal: AbortSignal): ToolContext {
  return createToolContext({ signal })
}

test("Sleep waits for the given time and does nothing else", { tags: ["TOOL-14"] }, async () => {
  vi.useFakeTimers()
  expect(sleepTool()).toMatchObject({ name: "Sleep", effect: "none", concurrent: true, risk: "low" })
  let isDone = false
  const sleeping = Promise.resolve(sleepTool().run({ ms: 300_000 }, contextWith(new AbortController().signal)))
  sleeping.then(() => {
    isDone = true
  })
  await vi.advanceTimersByTimeAsync(299_999)
  expect(isDone).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(await sleeping).toBe("Waited 300000 ms.")
})

test("Sleep accepts zero", async () => {
  const answer = await dispatcher.callTool("Sleep", { ms: 0 }, contextWith(new AbortController().signal))
  expect(answer).toEqual({ isError: false, text: "Waited 0 ms." })
})

test("Sleep ends when the run is stopped and leaves no timer", async () => {
  vi.useFakeTimers()
  const abort = new AbortController()
  const { signal } = abort
  const sleeping = Promise.resolve(sleepTool().run({ ms: 300_000 }, contextWith(signal)))
  const dispatched = dispatcher.callTool("Sleep", { ms: 300_000 }, contextWith(signal))
  abort.abort()
  await expect(sleeping).rejects.toMatchObject({ code: "aborted" })
  expect(JSON.parse((await dispatched).text)).toMatchObject({ error: { code: "aborted" } })
  expect(vi.getTimerCount()).toBe(0)
})

test.each([{}, { ms: -1 }, { ms: 300_001 }, { ms: 0.5 }, { ms: "1" }])("Sleep rejects %j", async (args) => {
  const { text } = await dispatcher.callTool("Sleep", args, contextWith(new AbortController().signal))
  expect(JSON.parse(text)).toMatchObject({ error: { code: "invalid_input" } })
})
