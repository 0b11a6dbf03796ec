import { mkdirSync } from "node:fs"
import { expect, test } from "vitest"
import type { Json } from "../../../src/contract/json.ts"
import type { SimulatedAnswer, SimulatedRequest } from "../../../src/testing/index.ts"
import { defineTool } from "../../../src/tools/kernel/define-tool.ts"
import { functionCall, message, outputsIn, patchCall, serveResponses } from "./responses-server.ts"
import { call, createScene, once, recordsOf, sceneAt, shell } from "./scene.ts"

const asksForBash = { ask: "pause", rules: [{ ask: { tool: "Bash" } }] } as const
const asksForPay = { ask: "pause", rules: [{ ask: { tool: "pay" } }] } as const

function payTool(paid: Json[]) {
  return defineTool({
    name: "pay",
    description: "Pays.",
    inputSchema: { type: "object" },
    effect: "once",
    run: (args) => {
      paid.push(args as Json)
      return "Paid."
    },
  })
}

/** The results of one call in the newest request. */
function resultsOf(request: SimulatedRequest | undefined, text: string) {
  const ids = request?.messages.flatMap(({ toolCalls }) => toolCalls.map(({ id, args }) => [id, JSON.stringify(args)]))
  const id = ids?.find(([, args]) => args?.includes(text))?.[0]
  return request?.messages.flatMap(({ toolResults }) => toolResults.filter((result) => result.id === id)) ?? []
}

test("codex: a command that waits for approval runs once after the program was killed, and its result is paired once", async () => {
  const scene = await createScene(once(shell("echo ran >> ran.txt; echo RESULT")))
  const first = scene.runtime({ policy: asksForBash })
  const paused = await first.run({ task: "Go.", runId: "r" })
  expect(paused).toMatchObject({ status: "paused", pause: { pendingToolCall: { name: "Bash" } } })
  expect(scene.lines("ran.txt")).toEqual([])
  await first.close()

  const second = scene.runtime({ policy: asksForBash })
  const result = await second.resume({ runId: "r", decision: "approve" })
  expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done", turns: 2 })
  expect(scene.lines("ran.txt")).toEqual(["ran"])
  expect(scene.requests).toHaveLength(2)
  expect(resultsOf(scene.requests[1], "RESULT").map(({ text }) => text)).toEqual(["RESULT\n"])
  const intents = (await recordsOf(second, "r")).filter(({ type }) => type === "tool-intent")
  expect(intents).toHaveLength(1)
  expect(await second.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "failed" })
  expect(scene.lines("ran.txt")).toEqual(["ran"])
})

test("codex: a command that is denied after the pause does not run, and the model gets the reason", async () => {
  const scene = await createScene(once(shell("echo ran >> ran.txt")))
  const first = scene.runtime({ policy: asksForBash })
  await first.run({ task: "Go.", runId: "r" })
  await first.close()
  const result = await scene
    .runtime({ policy: asksForBash })
    .resume({ runId: "r", decision: "deny", answer: "Too risky." })
  expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
  expect(result.text).toContain("Too risky.")
  expect(scene.lines("ran.txt")).toEqual([])
})

test("codex: a command approved with other arguments runs with them", async () => {
  const scene = await createScene(once(shell("echo ran >> ran.txt")))
  const first = scene.runtime({ policy: asksForBash })
  await first.run({ task: "Go.", runId: "r" })
  await first.close()
  const args = { command: "echo changed >> ran.txt" }
  const result = await scene.runtime({ policy: asksForBash }).resume({ runId: "r", decision: "approve", args })
  expect(result).toMatchObject({ status: "done" })
  expect(scene.lines("ran.txt")).toEqual(["changed"])
})

test("codex: a ticket of another question is refused, and nothing runs", async () => {
  const scene = await createScene(once(shell("echo ran >> ran.txt")))
  const first = scene.runtime({ policy: asksForBash })
  await first.run({ task: "Go.", runId: "r" })
  await first.close()
  const result = await scene.runtime().resume({ runId: "r", decision: "approve", ticket: "another" })
  expect(result).toMatchObject({ error: { code: "approval_stale" } })
  expect(scene.lines("ran.txt")).toEqual([])
})

test("codex: the same command of a later answer asks again", async () => {
  const scene = await createScene((request, index): SimulatedAnswer => {
    if (index < 2) return { parts: [shell("echo ran >> ran.txt")] }
    return `Results: ${request.lastToolResults.length}`
  })
  const first = scene.runtime({ policy: asksForBash })
  await first.run({ task: "Go.", runId: "r" })
  await first.close()
  const second = scene.runtime({ policy: asksForBash })
  expect(await second.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "paused" })
  expect(scene.lines("ran.txt")).toEqual(["ran"])
  expect(await second.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "done", turns: 3 })
  expect(scene.lines("ran.txt")).toEqual(["ran", "ran"])
})

test("codex: a call of the runtime's tool that waits for approval is paid once, and its result is paired once", async () => {
  const paid: Json[] = []
  const scene = await createScene(once(call("pay", { amount: 7 })))
  const first = scene.runtime({ policy: asksForPay, tools: [payTool(paid)] })
  expect(await first.run({ task: "Go.", runId: "r" })).toMatchObject({ status: "paused" })
  await first.close()
  expect(paid).toEqual([])
  const second = scene.runtime({ policy: asksForPay, tools: [payTool(paid)] })
  const result = await second.resume({ runId: "r", decision: "approve" })
  expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done", text: "Results: Paid." })
  expect(paid).toEqual([{ amount: 7 }])
  expect(resultsOf(scene.requests[1], "amount").map(({ text }) => text)).toEqual(["Paid."])
})

test("codex: of two calls in an answer, one of which waits for approval, each runs once, and the model gets both results", async () => {
  const paid: Json[] = []
  const scene = await createScene(once(shell("echo ran >> ran.txt; echo RESULT"), call("pay", { amount: 7 })))
  const first = scene.runtime({ policy: asksForPay, tools: [payTool(paid)] })
  expect(await first.run({ task: "Go.", runId: "r" })).toMatchObject({ status: "paused" })
  await first.close()
  const second = scene.runtime({ policy: asksForPay, tools: [payTool(paid)] })
  const result = await second.resume({ runId: "r", decision: "approve" })
  expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done" })
  expect([scene.lines("ran.txt"), paid]).toEqual([["ran"], [{ amount: 7 }]])
  expect(resultsOf(scene.requests[1], "amount").map(({ text }) => text)).toEqual(["Paid."])
  // The model learns the result of the other call, too.
  const last = scene.requests[1]?.messages.flatMap(({ text, toolResults }) => [
    text,
    ...toolResults.map((each) => each.text),
  ])
  expect(last?.join("\n")).toContain("RESULT")
})

test("codex: two commands of an answer that both wait are decided one after the other, and each runs once", async () => {
  const scene = await createScene(once(shell("echo one >> one.txt"), shell("echo two >> two.txt")))
  const first = scene.runtime({ policy: asksForBash })
  expect(await first.run({ task: "Go.", runId: "r" })).toMatchObject({ status: "paused" })
  await first.close()
  const second = scene.runtime({ policy: asksForBash })
  expect(await second.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "paused" })
  expect([...scene.lines("one.txt"), ...scene.lines("two.txt")]).toHaveLength(1)
  await second.close()
  const third = scene.runtime({ policy: asksForBash })
  const result = await third.resume({ runId: "r", decision: "approve" })
  expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done" })
  expect([scene.lines("one.txt"), scene.lines("two.txt")]).toEqual([["one"], ["two"]])
  const results = scene.requests.at(-1)?.messages.flatMap(({ toolResults }) => toolResults.map(({ id }) => id))
  expect(results).toHaveLength(2)
  expect(scene.requests).toHaveLength(2)
})

test("codex: a patch that waits for approval is applied once, and its result is paired once", async () => {
  const patch = "*** Begin Patch\n*** Add File: made.txt\n+hello\n*** End Patch\n"
  const server = await serveResponses((_, index) => (index > 0 ? [message("done")] : [patchCall("a", patch)]))
  const scene = sceneAt(server)
  const policy = { ask: "pause", rules: [{ ask: { tool: "ApplyPatch" } }] } as const
  const first = scene.runtime({ policy })
  expect(await first.run({ task: "Go.", runId: "r" })).toMatchObject({ status: "paused" })
  await first.close()
  const result = await scene.runtime({ policy }).resume({ runId: "r", decision: "approve" })
  expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done", text: "done" })
  expect(scene.lines("made.txt")).toEqual(["hello"])
  expect(outputsIn(server.requests[1]?.input ?? [])).toEqual([["a", expect.stringContaining("made.txt")]])
})

test("codex: a finished run is continued with its conversation by another process", async () => {
  const server = await serveResponses((_, index) => [message(`answer ${index}`)])
  const scene = sceneAt(server)
  const first = scene.runtime()
  expect(await first.run({ task: "One.", runId: "r" })).toMatchObject({ text: "answer 0" })
  await first.close()
  const result = await scene.runtime().continue("r", "Two.")
  expect(result).toMatchObject({ text: "answer 1", usage: { outputTokens: 10, inputTokens: 80, cacheReadTokens: 20 } })
  const texts = JSON.stringify(server.requests[1]?.input)
  expect(["One.", "answer 0", "Two."].map((text) => texts.split(text).length - 1)).toEqual([1, 1, 1])
})

test("codex: a lost session is continued from the journal", async () => {
  const scene = await createScene(once(shell("echo ran >> ran.txt; echo RESULT")))
  const first = scene.runtime({ policy: asksForPay })
  expect(await first.run({ task: "Go.", runId: "r", slice: { turns: 1 } })).toMatchObject({ status: "paused" })
  await first.close()
  mkdirSync(`${scene.folder}/home/.other`)
  const elsewhere = { env: { CODEX_HOME: `${scene.folder}/home/.other` } }
  const second = scene.runtime({ policy: asksForPay }, elsewhere)
  const result = await second.resume({ runId: "r" })
  expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done" })
  expect(scene.lines("ran.txt")).toEqual(["ran"])
  expect(resultsOf(scene.requests.at(-1), "RESULT").map(({ text }) => text)).toEqual(["RESULT\n"])
})

test("codex: a resumed session counts the usage of the earlier one once, and the model need not repeat the call", async () => {
  const server = await serveResponses((input, index) => {
    if (index === 0) return [functionCall("a", "exec_command", { cmd: "true" })]
    if (index === 1) return [functionCall("b", "exec_command", { cmd: "echo ran >> ran.txt" })]
    return [message(JSON.stringify(outputsIn(input).slice(1)))]
  })
  const scene = sceneAt(server)
  const policy = { ask: "pause", rules: [{ ask: { tool: "Bash", command: "echo **" } }] } as const
  const first = scene.runtime({ policy })
  const paused = await first.run({ task: "Go.", runId: "r" })
  expect(paused).toMatchObject({ status: "paused", usage: { inputTokens: 160, cacheReadTokens: 40, outputTokens: 20 } })
  await first.close()
  const result = await scene.runtime({ policy }).resume({ runId: "r", decision: "approve" })
  expect(result.text).toBe('[["b",""]]')
  // Three requests. The vendor's total includes the first one, which was recorded before.
  expect(result.usage).toMatchObject({ inputTokens: 240, cacheReadTokens: 60, outputTokens: 30 })
  expect(scene.lines("ran.txt")).toEqual(["ran"])
})
