import { describe, expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import type { HookedCompaction } from "../src/contract/hooks.ts"
import type { Message } from "../src/contract/message.ts"
import { createRuntime } from "../src/index.ts"
import { RunProjection } from "../src/journal/projection.ts"
import { plainText } from "../src/lib/content.ts"
import { fetchTransport } from "../src/lib/fetch-transport.ts"
import { anthropic } from "../src/providers/anthropic/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { createSimulator } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { call, countingModel, problemsOf, text, wordsIn } from "./compaction/counting-model.ts"
import { checkRequests, runTurns, words } from "./compaction/run-turns.ts"
import { watchedInbox } from "./support/inbox-watch.ts"

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const small = { window: 16_000, turns: 40, result: (turn: number) => `${turn}: ${words(500)}` }
const chatty = {
  window: 16_000,
  turns: 40,
  result: () => "ok",
  turn: (_request: unknown, number: number) =>
    number > 40 ? "Finished." : [text(`Step ${number}: ${words(400)}`), call("Look", { number })],
}

describe("settings", () => {
  test("compaction: false leaves a conversation as it is, and an overflow ends the run", async () => {
    const run = await runTurns({ ...small, config: { compaction: false } })
    expect(run.compactions).toEqual([])
    expect(run.result.error?.code).toBe("context_overflow")
    expect(run.result.capabilitiesUsed.contextCompactionApplied).toBe(false)
  })

  test("the host's window comes before the model's, and a lower share starts earlier", async () => {
    const whole = await runTurns({ ...small, config: { compaction: { window: 8_000 } } })
    expect(whole.compactions[0]?.window).toBe(8_000)
    const early = await runTurns({ ...small, config: { compaction: { at: 0.3 } } })
    const late = await runTurns(small)
    expect(early.compactions[0]?.turn).toBeLessThan(late.compactions[0]?.turn ?? 0)
  })

  test("without a known window 128,000 tokens are assumed, with one warning, and only where it matters", {
    tags: ["CAP-03"],
  }, async () => {
    const { model } = countingModel({ window: 1_000_000, turn: (_request, number) => turnOf(number, 40) })
    const { contextTokens: _, ...unknown } = model
    const look = defineTool({
      name: "Look",
      description: "x",
      inputSchema: { type: "object" },
      run: () => words(5_000),
    })
    const runtime = createRuntime({ model: unknown, tools: [look] })
    const result = await runtime.run({ task: "Go.", runId: "r1" })
    expect(result.status).toBe("done")
    expect(result.warnings.map(({ code }) => code)).toEqual(["context_window_assumed"])
    const short = createRuntime({
      model: { ...unknown, converse: countingModel({ window: 1e6, turn: () => "Done." }).model.converse },
    })
    expect((await short.run({ task: "Go." })).warnings).toEqual([])
  })

  test("a task that exceeds the assumed window is sent: the server decides", async () => {
    const { model, requests } = countingModel({ window: 1_000_000, turn: () => "Done." })
    const { contextTokens: _, ...unknown } = model
    const result = await createRuntime({ model: unknown }).run({ task: words(150_000) })
    expect(result.status).toBe("done")
    expect(requests).toHaveLength(1)
  })
})

const turnOf = (number: number, turns: number) => (number > turns ? "Finished." : [call("Look", { number })])

describe("the host", () => {
  test("the hook gets each compaction with the run's id once it is durable", {
    tags: ["CMP-02", "HOST-05", "CAP-11"],
  }, async () => {
    const store = memoryStore()
    const seen: { readonly given: HookedCompaction; readonly isDurable: boolean }[] = []
    const reader = createRuntime({ store })
    const compaction = async (given: HookedCompaction) => {
      const records = []
      for await (const record of reader.events(given.runId)) records.push(record)
      seen.push({
        given,
        isDurable: records.some((record) => record.type === "compaction" && record.turn === given.compaction.turn),
      })
    }
    const run = await runTurns({ ...chatty, config: { store, hooks: { compaction } } })
    expect(seen).toHaveLength(run.compactions.length)
    expect(seen.length).toBeGreaterThan(0)
    for (const { given, isDurable } of seen) {
      expect(given).toMatchObject({ runId: "r1", nodeId: "main", compaction: { cause: "threshold" } })
      expect(isDurable).toBe(true)
    }
    expect(run.result.capabilitiesUsed.contextCompactionApplied).toBe(true)
  })

  test("a run is shortened before its next turn when the host asks, in the same process", async () => {
    const asked: boolean[] = []
    const run = await runTurns({
      ...chatty,
      turns: 8,
      window: 200_000,
      turn: (_request, number) => turnOf(number, 8),
      onTurn: (turn, handle) => {
        if (turn === 5) asked.push(handle.compact())
      },
    })
    expect(asked).toEqual([true])
    expect(run.compactions).toMatchObject([{ turn: 6, cause: "asked", head: { through: 4 } }])
    checkRequests(run)
  })

  test("a run in another process is shortened through its inbox, and the request is in its journal", async () => {
    const { store, taken } = watchedInbox(memoryStore(), { workspaceId: "default", runId: "r1", nodeId: "main" })
    const other = createRuntime({ store })
    const run = await runTurns({
      ...chatty,
      window: 200_000,
      turn: (_request, number) => turnOf(number, 8),
      config: { store },
      onTurn: async (turn) => {
        if (turn !== 3) return
        expect(await other.compact("r1")).toBe(true)
        await taken(0)
      },
    })
    expect(run.records.filter(({ type }) => type === "compaction-request")).toMatchObject([{ inbox: 0 }])
    expect(run.compactions).toMatchObject([{ cause: "asked" }])
    expect(await other.compact("r1")).toBe(false)
    expect(await other.compact("unknown")).toBe(false)
  })

  test("a request while nothing can be shortened is a warning, not an error", async () => {
    const run = await runTurns({
      ...chatty,
      turn: () => "Done.",
      onTurn: (_turn, handle) => void handle.compact(),
      input: { task: "Go." },
      config: { hooks: { stop: () => false } },
    })
    expect(run.result.status).toBe("done")
    expect(run.compactions).toEqual([])
  })

  test("the note of a removed result names FetchData and its ref where that tool is offered", async () => {
    const fetch = defineTool({ name: "FetchData", description: "x", inputSchema: { type: "object" }, run: () => "x" })
    const look = defineTool({
      name: "Look",
      description: "x",
      inputSchema: { type: "object" },
      run: () => [{ type: "image", mediaType: "image/png", data: PNG }],
    })
    const sent = ({ requests }: Awaited<ReturnType<typeof runTurns>>) =>
      requests.map(({ messages }) => wordsIn(messages)).join()
    expect(sent(await runTurns({ ...small, config: { tools: [look, fetch] } }))).toContain(
      'FetchData with the ref \\"1.1\\"',
    )
    expect(sent(await runTurns({ ...small, config: { tools: [look] } }))).toContain("Run the tool again")
  })

  test("images leave first, at any age, except those of the last turn", async () => {
    const picture = defineTool({
      name: "Look",
      description: "x",
      inputSchema: { type: "object" },
      run: () => [{ type: "image", mediaType: "image/png", data: PNG }],
    })
    const run = await runTurns({ ...small, turns: 20, config: { tools: [picture] } })
    expect(run.result.status).toBe("done")
    expect(run.compactions).not.toHaveLength(0)
    for (const { head, results, turn } of run.compactions) {
      expect(head).toBeUndefined()
      const removed = Object.keys(results?.keep ?? {})
      expect(removed).toContain(`${turn - 2}.1`)
      // That of the last turn stays.
      expect(removed).not.toContain(`${turn - 1}.1`)
    }
    checkRequests(run)
  })
})

test("over a protocol the server gets the shortened conversation, and only what is new of the rest", async () => {
  let turns = 0
  const simulator = createSimulator({
    script({ lastUserText }) {
      if (lastUserText.includes("Write the summary now")) return "Goal: sheep."
      return ++turns > 12 ? "Finished." : { parts: [{ toolCall: { name: "Look", args: { number: turns } } }] }
    },
  })
  const model = anthropic({ model: "claude-x", apiKey: "key", baseUrl: "http://simulator.test" })
  const look = defineTool({ name: "Look", description: "x", inputSchema: { type: "object" }, run: () => words(1_500) })
  const runtime = createRuntime({
    model,
    tools: [look],
    transport: fetchTransport((url, init) => simulator.fetch(new Request(url, init))),
    compaction: { window: 16_000, keep: 3_000 },
  })
  const result = await runtime.run({ task: "Count the sheep.", runId: "r1" })
  expect(result).toMatchObject({ status: "done", text: "Finished." })
  const projection = new RunProjection()
  const folded: (readonly string[])[] = []
  for await (const record of runtime.events("r1")) {
    projection.apply(record)
    if (record.type === "turn-start") folded.push(resultsIn(projection.messages))
  }
  const isSummary = ({ lastUserText }: (typeof simulator.requests)[number]) =>
    lastUserText.includes("Write the summary now")
  const sent = simulator.requests
    .filter((request) => !isSummary(request))
    .map(({ messages }) => messages.flatMap(({ toolResults }) => toolResults.map(({ text: each }) => each)))
  expect(simulator.requests.some(isSummary)).toBe(true)
  expect(sent).toEqual(folded)
  expect(simulator.requests.at(-1)?.messages[0]?.text).toContain("Goal: sheep.")
})

function resultsIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) =>
    message.role === "tool" ? message.content.map(({ output }) => plainText(output, "")) : [],
  )
}

describe("conversations", () => {
  test("a long past that was handed over as messages is shortened, the newest of it and the task stay", async () => {
    const past = Array.from({ length: 60 }, (_, index): Message[] => [
      { role: "user", content: [{ type: "text", text: `question ${index} ${words(100)}` }] },
      { role: "assistant", content: [{ type: "text", text: `reply ${index} ${words(100)}` }] },
    ]).flat()
    const run = await runTurns({
      ...small,
      turns: 3,
      result: () => "ok",
      turn: (_request, number) => turnOf(number, 3),
      input: { messages: past },
    })
    expect(run.result.status).toBe("done")
    expect(run.compactions).toMatchObject([{ turn: 1, head: { through: 0 } }])
    expect(run.compactions[0]?.head?.kept).toBeGreaterThan(2)
    expect(wordsIn(run.requests.at(-1)?.messages ?? [])).toContain("reply 59")
    checkRequests(run)
  })

  test("exchanges that continue a shortened one get what is left of it, and may shorten it again", async () => {
    const run = await runTurns({ ...chatty, config: { limits: { turns: 300 } } })
    expect(run.result.status).toBe("done")
    for (let exchange = 2; exchange <= 6; exchange++) {
      const before = run.requests.length
      const result = await run.runtime.continue("r1", `Exchange ${exchange}: ${words(1_500)}`)
      expect(result.status).toBe("done")
      const asked = run.requests.slice(before).filter(({ isSummary }) => !isSummary)
      for (const { messages, isRefused } of asked) {
        expect(problemsOf(messages)).toEqual([])
        expect(isRefused).toBe(false)
        expect(wordsIn(messages)).toContain(`Exchange ${exchange}:`)
      }
    }
  })

  test("a fork of a shortened run goes on with the same conversation, without another summary", async () => {
    const run = await runTurns(chatty)
    const last = run.compactions.at(-1)
    const { runId } = await run.runtime.fork("r1", { at: last?.seq ?? 0, newRunId: "f1" })
    const before = run.requests.length
    await run.runtime.replay(runId)
    expect(run.requests).toHaveLength(before)
    const result = await run.runtime.resume({ runId })
    expect(result.status).toBe("done")
    const [first] = run.requests.slice(before)
    expect(first?.isSummary).toBe(false)
    expect(wordsIn(first?.messages ?? [])).toContain("Summary of the conversation")
  })

  test("with compaction on, a short run has no record and no request that it had not before", async () => {
    const off = await runTurns({ ...small, turns: 5, config: { compaction: false } })
    const on = await runTurns({ ...small, turns: 5 })
    expect(on.records.map(({ type }) => type)).toEqual(off.records.map(({ type }) => type))
    expect(on.requests.map(({ messages }) => wordsIn(messages).length)).toEqual(
      off.requests.map(({ messages }) => wordsIn(messages).length),
    )
  })
})

test("an interrupt during a summary ends the run at once", async () => {
  const { model } = countingModel({ ...chatty })
  const never = {
    ...model,
    converse: () => ({ call: (_m: unknown, _s: unknown, signal: AbortSignal) => aborted(signal) }),
  }
  const run = runTurns({
    ...chatty,
    config: { compaction: { model: never }, backend: native() },
    onRecord: (record, handle) => {
      if (record.type === "compaction-start") handle.interrupt("immediate")
    },
  })
  expect((await run).result.status).toBe("cancelled")
})

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
}
