import { describe, expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import { LonghaulError } from "../src/contract/error.ts"
import type { RecordBody, RunRecord } from "../src/contract/event.ts"
import type { Message } from "../src/contract/message.ts"
import type { Answer } from "../src/contract/provider.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import { createRuntime } from "../src/index.ts"
import { takeRun } from "../src/journal/journal.ts"
import { runPath } from "../src/journal/paths.ts"
import { project } from "../src/journal/projection.ts"
import { plainText } from "../src/lib/content.ts"
import { totalTokens } from "../src/lib/usage.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { type CountingOptions, call, countingModel, problemsOf, text, wordsIn } from "./compaction/counting-model.ts"
import { checkRequests, runTurns, words } from "./compaction/run-turns.ts"

/** The records after which a process dies: all, or those around compactions and a sample of the others. */
function killedAfter(records: readonly RunRecord[]): readonly number[] {
  const every = Number(process.env.LONGHAUL_COMPACTION_KILLS ?? 9)
  return records.flatMap(({ type }, seq) => {
    const isClose = type.startsWith("compaction") || records[seq + 1]?.type.startsWith("compaction")
    const isPossible = seq > 0 && seq < records.length - 1
    return isPossible && (isClose || seq % every === 0) ? [seq] : []
  })
}

/** Summaries only: no result is old enough to be removed alone. */
const talkative = { window: 16_000, turns: 60, result: () => "ok" }
const chatter = (_request: unknown, number: number) =>
  number > 60 ? "Finished." : [text(`Step ${number}: ${words(400)}`), call("Look", { number })]

describe("facts", () => {
  test("results within the kept tokens are in the next request, and facts of the summary survive ten compactions", async () => {
    const facts: string[] = []
    const run = await runTurns({
      ...talkative,
      turns: 260,
      turn: (_request, number) =>
        number > 260 ? "Finished." : [text(`Step ${number}: ${words(400)}`), call("Look", { number })],
      result: (turn) => `needle-${turn}`,
      // A model that repeats the facts of the earlier summary and adds the newest.
      summary: ({ messages }) => {
        const record = wordsIn(messages)
        const kept = [...new Set(record.match(/fact-\d+/g) ?? [])]
        facts.push(`fact-${facts.length + 1}`)
        return `Known: ${[...kept, facts.at(-1)].join(" ")}`
      },
    })
    const heads = run.compactions.filter(({ head }) => head)
    expect(heads.length).toBeGreaterThanOrEqual(10)
    const last = wordsIn(run.requests.at(-1)?.messages ?? [])
    for (const fact of facts) expect(last).toContain(fact)
    for (const { messages } of run.requests.filter(({ isSummary }) => !isSummary).slice(1)) {
      const newest = Math.max(
        ...(wordsIn(messages).match(/needle-(\d+)/g) ?? []).map((found) => Number(found.slice(7))),
      )
      const answered = wordsIn(messages.slice(-1)).match(/needle-(\d+)/)?.[1]
      if (answered !== undefined) expect(newest).toBe(Number(answered))
    }
    checkRequests(run)
  }, 600_000)

  test("the files, tasks and background commands of the run are in the head, written by code", async () => {
    const named = (name: string, result: string) =>
      defineTool({ name, description: name, inputSchema: { type: "object" }, run: () => result })
    const first = [
      call("Read", { path: "src/a.ts" }),
      call("Write", { path: "src/b.ts", content: "x" }),
      call("TaskCreate", { subject: "Shear" }),
      call("Bash", { command: "npm start", background: true }),
      call("ToolSearch", { query: "sheep" }),
    ]
    const tools = [
      named("Read", "text"),
      named("Write", "Wrote."),
      named("TaskCreate", "Created task 1: Shear"),
      named("Bash", "Started as shellId sh1.\n[containment: none]"),
      named("ToolSearch", "countSheep: Counts: sheep.\n\nshear: Shears a sheep.\n\n[2 weaker matches omitted]"),
      named("Look", "ok"),
    ]
    const run = await runTurns({
      ...talkative,
      turn: (request, number) => (number === 1 ? first : chatter(request, number)),
      config: { tools },
    })
    const head = wordsIn(run.compactions.find(({ head }) => head)?.head?.messages ?? [])
    expect(head).toContain("Files that were changed:\\n- src/b.ts")
    expect(head).toContain("Files that were only read:\\n- src/a.ts")
    expect(head).toContain("- 1 [pending] Shear")
    expect(head).toContain("- sh1: npm start")
    expect(head).toContain("Tools that ToolSearch has found:\\n- countSheep\\n- shear")
    expect(head).toContain("Continue with the next action.")
  })
})

describe("agents", () => {
  test("agents that work and those that have ended are in the head with their ids, and an answer is not kept as a person's words", async () => {
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const named = (name: string, run: () => string | Promise<string>) =>
      defineTool({ name, description: name, inputSchema: { type: "object" }, run })
    const agent = (prompt: string, background: boolean) =>
      call("Agent", { description: `do ${prompt}`, prompt, background })
    const run = await runTurns({
      ...talkative,
      turn: (request, number) => {
        const [first] = request.messages
        const role = first?.role === "user" ? plainText(first.content, "") : ""
        if (role === "quick") return "Quick is done."
        if (role === "slow") return request.messages.length === 1 ? [call("Hold")] : "Slow is done."
        if (number > 60) open()
        if (number === 1) return [agent("quick", false), agent("quick", true), agent("slow", true)]
        return chatter(request, number)
      },
      config: { agents: {}, tools: [named("Look", () => "ok"), named("Hold", () => opened.then(() => "held"))] },
    })
    expect(run.result).toMatchObject({ status: "done" })
    const head = wordsIn(run.compactions.find(({ head }) => head)?.head?.messages ?? [])
    expect(head).toContain(
      "Agents that work in the background: their answers come as messages:\\n- 1-2 (general): do slow",
    )
    expect(head).toContain("Agents that have ended:")
    for (const id of ["1-0", "1-1"]) expect(head).toContain(`- ${id} (general), done: do quick`)
    expect(head).not.toContain("Quick is done.")
  })
})

describe("the summary", () => {
  const unusable: Readonly<Record<string, string | Partial<Answer> | LonghaulError>> = {
    fails: new LonghaulError("invalid_request", "no"),
    "is empty": " ",
    "is a refusal": { parts: [text("I cannot do that.")], stopReason: "refusal" },
    "calls a tool": { parts: [text("Goal: the"), call("Look")], stopReason: "end" },
    "is too long itself": new LonghaulError("context_overflow", "prompt is too long"),
  }
  test.each(Object.entries(unusable))(
    "a run goes on with an extract and a warning if its summary %s",
    async (_how, summary) => {
      const run = await runTurns({ ...talkative, turn: chatter, summary: () => summary })
      expect(run.result).toMatchObject({ status: "done", text: "Finished." })
      expect(run.result.warnings.map(({ code }) => code)).toContain("compaction_degraded")
      expect(wordsIn(run.compactions[0]?.head?.messages ?? [])).toContain("Assistant called Look")
      checkRequests(run)
    },
  )

  test("a summary by another model is requested without tools, as one message of plain text, and retried", async () => {
    let failed = 0
    const summary = () => (failed++ === 0 ? new LonghaulError("overloaded", "busy") : "Goal: sheep.")
    const writer = countingModel({ window: 16_000, turn: () => "unused", summary })
    const run = await runTurns({ ...talkative, turn: chatter, config: { compaction: { model: writer.model } } })
    expect(writer.requests.length).toBe(run.compactions.filter(({ head }) => head).length + 1)
    for (const { setup, messages, isRefused } of writer.requests) {
      expect(setup.tools).toEqual([])
      expect(messages).toMatchObject([{ role: "user", content: [{ type: "text" }] }])
      expect(isRefused).toBe(false)
    }
    expect(run.result).toMatchObject({ status: "done", warnings: [] })
    expect(run.records.filter(({ type }) => type === "retry")).toHaveLength(1)
  })

  test("a summary by the run's own model is requested at the end of its conversation, with the same beginning, and retried", async () => {
    let failed = 0
    const summary = () => (failed++ === 0 ? new LonghaulError("overloaded", "busy") : "Goal: sheep.")
    const run = await runTurns({ ...talkative, turn: chatter, summary })
    for (const [index, { setup, messages, isSummary }] of run.requests.entries()) {
      const before = run.requests[index - 1]
      if (!isSummary || !before) continue
      expect(setup).toEqual(before.setup)
      const asked = before.isSummary ? before.messages.length - 1 : before.messages.length
      expect(messages.slice(0, asked)).toEqual(before.messages.slice(0, asked))
    }
    expect(run.requests.filter(({ isSummary }) => isSummary).length).toBe(run.compactions.length + 1)
    expect(run.result).toMatchObject({ status: "done", warnings: [] })
    checkRequests(run)
  })

  test("a model that calls a tool at the end of its conversation is asked for the summary again, apart, and both are paid for", async () => {
    const summary: CountingOptions["summary"] = ({ setup }) =>
      setup.tools.length > 0 ? { parts: [call("Look")], stopReason: "tool-calls" } : "Goal: sheep."
    const looks: number[] = []
    const run = await runTurns({ ...talkative, turn: chatter, summary, result: (turn) => `${looks.push(turn)}` })
    expect(run.result).toMatchObject({ status: "done", warnings: [] })
    const asked = run.requests.filter(({ isSummary }) => isSummary)
    expect(asked.length).toBe(2 * run.compactions.length)
    expect(run.result.usage.inputTokens).toBe(run.requests.reduce((sum, { tokens }) => sum + tokens, 0))
    // Before the next request, so that a process that dies during it loses nothing.
    const types = run.records.map(({ type }) => type).filter((type) => /^compaction|metering/.test(type))
    expect(types.slice(0, 4)).toEqual(["compaction-start", "metering", "compaction-start", "compaction"])
    expect(looks).toHaveLength(60)
    checkRequests(run)
  })

  test("a summary in several requests is paid for with each of them", async () => {
    const writer = countingModel({ window: 6_000, turn: () => "unused" })
    const run = await runTurns({
      window: 32_000,
      turns: 8,
      result: (turn) => `${turn} ${words(6_000)}`,
      config: { compaction: { model: writer.model } },
    })
    expect(run.result.status).toBe("done")
    expect(writer.requests.length).toBeGreaterThan(run.compactions.length)
    const all = [...run.requests, ...writer.requests]
    expect(run.result.usage.inputTokens).toBe(all.reduce((sum, { tokens }) => sum + tokens, 0))
  })

  test("a run that has to answer in a form, and one after a refusal, ask for the summary apart", async () => {
    const outputSchema = { type: "object", properties: { sheep: { type: "integer" } } } as const
    const turn = (_request: unknown, number: number) =>
      number > 30 ? '{"sheep": 1}' : [text(`Step ${number}: ${words(400)}`), call("Look", { number })]
    const inForm = await runTurns({ ...talkative, turn, input: { outputSchema } })
    const refused = await runTurns({ ...talkative, window: 8_000, declared: 16_000, turn: chatter })
    for (const run of [inForm, refused]) {
      expect(run.result.status).toBe("done")
      const first = run.requests.find(({ isSummary }) => isSummary)
      expect([first?.setup.tools, first?.messages.length]).toEqual([[], 1])
    }
  })

  test("another model may write the summary, with own instructions", async () => {
    const writer = countingModel({ window: 100_000, turn: () => "unused", summary: () => "Written elsewhere." })
    const config: RuntimeConfig = { compaction: { model: writer.model, instructions: "Mention the sheep." } }
    const run = await runTurns({ ...talkative, turn: chatter, config })
    expect(run.requests.filter(({ isSummary }) => isSummary)).toEqual([])
    expect(writer.requests.length).toBe(run.compactions.length)
    expect(writer.requests[0]?.setup.system).toContain("Mention the sheep.")
    expect(wordsIn(run.requests.at(-1)?.messages ?? [])).toContain("Written elsewhere.")
  })

  test("a secret that a summary repeats is masked in the journal and in the next request", async () => {
    const secret = "hunter2hunter2hunter2"
    const run = await runTurns({
      ...talkative,
      turn: chatter,
      summary: () => `The password is ${secret}.`,
      config: { secrets: { password: secret } },
    })
    expect(run.compactions.length).toBeGreaterThan(0)
    expect(JSON.stringify(run.records)).not.toContain(secret)
    expect(wordsIn(run.requests.at(-1)?.messages ?? [])).not.toContain(secret)
  })
})

describe("failure modes of other systems", () => {
  test("loops: a fixed part that is too large makes no call at all, and the error names what takes the room", async () => {
    const run = await runTurns({
      window: 8_000,
      turns: 5,
      result: () => "ok",
      input: { system: words(7_000) },
    })
    expect(run.requests).toEqual([])
    const { error } = run.result
    expect(error).toMatchObject({ code: "compaction_stuck", data: { window: 8_000 } })
    expect(error?.message).toContain("The system prompt and the tools leave too little room")
    expect(error?.fix).toContain("system prompt")
  })

  test("loops: a task that fills the window again after every summary ends the run after a few", async () => {
    const run = await runTurns({
      window: 8_000,
      factor: 1,
      turns: 400,
      result: () => "ok",
      turn: (_request, number) => [text(`${number} ${words(700)}`), call("Look", { number })],
      input: { task: `count the sheep ${words(4_200)}` },
    })
    expect(run.result.error?.code).toBe("compaction_stuck")
    expect(run.result.error?.fix).toContain("task")
    expect(run.requests.filter(({ isSummary }) => isSummary).length).toBeLessThanOrEqual(3)
  })

  test("loops: a resumed run that was stuck makes one more summary at most", async () => {
    const options = {
      window: 8_000,
      factor: 1,
      turns: 400,
      result: () => "ok",
      turn: (_request: unknown, number: number) => [text(`${number} ${words(700)}`), call("Look", { number })],
      input: { task: `count the sheep ${words(4_200)}` },
    }
    const run = await runTurns(options)
    const before = run.requests.length
    const resumed = await run.runtime.resume({ runId: "r1" })
    expect(resumed.error?.code).toBe("compaction_stuck")
    expect(run.requests.slice(before).filter(({ isSummary }) => isSummary).length).toBeLessThanOrEqual(1)
  })

  test("stale usage: after a compaction the usage from before it starts no second one", async () => {
    const run = await runTurns({ ...talkative, turn: chatter })
    const turns = run.compactions.map(({ turn }) => turn)
    expect(new Set(turns).size).toBe(turns.length)
    for (const [index, turn] of turns.slice(1).entries()) expect(turn - (turns[index] ?? 0)).toBeGreaterThan(2)
  })

  test("stale usage: a refusal right after a compaction is measured by the shortened request", async () => {
    let last = 0
    const run = await runTurns({
      ...talkative,
      turn: (request, number) => {
        const isShortened = request.tokens < last
        last = request.tokens
        if (isShortened && number < 60) throw new LonghaulError("context_overflow", "413: request too large")
        return chatter(request, number)
      },
    })
    const [first, second] = run.compactions
    expect([first?.cause, second?.cause]).toEqual(["threshold", "overflow"])
    expect(second?.tokens.before).toBe(first?.tokens.after)
  })

  test("late checks: a long tool loop is shortened between its turns, before any request is refused", async () => {
    const run = await runTurns({ window: 16_000, turns: 100, result: (turn) => `${turn} ${words(500)}` })
    expect(run.result.status).toBe("done")
    expect(run.requests.some(({ isRefused }) => isRefused)).toBe(false)
    expect(run.result.turns).toBe(101)
  })

  test("late checks: room for the answer is left below the window", async () => {
    const run = await runTurns({ ...talkative, turn: chatter, input: { maxOutputTokens: 4_000 } })
    for (const { tokens, isSummary } of run.requests) if (!isSummary) expect(tokens + 4_000).toBeLessThanOrEqual(16_000)
  })

  test("late checks: a server that reports no usage is measured by estimates alone", async () => {
    const run = await runTurns({ ...talkative, turn: chatter, reportsUsage: false })
    expect(run.result.status).toBe("done")
    expect(run.requests.filter(({ isRefused }) => isRefused).length).toBeLessThanOrEqual(1)
    checkRequests(run)
  })

  test("a request that stays too long is tried three times at most", async () => {
    const refusal = () => new LonghaulError("context_overflow", "The provider responded with 413: too large")
    const run = await runTurns({ window: 1, declared: 16_000, turns: 3, result: () => "ok", refusal })
    expect(run.result.error?.code).toBe("compaction_stuck")
    expect(run.requests.length).toBeLessThanOrEqual(3)
  })

  test("a request that dies with HTTP 413 in the middle of a run is recovered in the same turn", {
    tags: ["FAIL-30"],
  }, async () => {
    let refused = 0
    const run = await runTurns({
      window: 200_000,
      turns: 12,
      result: (turn) => `${turn} ${words(1_500)}`,
      turn: (_request, number) => {
        if (number === 10 && refused++ === 0) throw new LonghaulError("context_overflow", "413: request too large")
        return number > 12 ? "Finished." : [text(`Step ${number}`), call("Look", { number })]
      },
    })
    expect(run.result).toMatchObject({ status: "done", turns: 12 })
    expect(run.compactions).toMatchObject([{ cause: "overflow", turn: 10 }])
    checkRequests(run)
  })

  test("an answer that the window cut is dropped with its early calls, and asked for again", async () => {
    let cuts = 0
    const run = await runTurns({
      window: 200_000,
      turns: 12,
      result: (turn) => `${turn} ${words(1_500)}`,
      turn: (_request, number) => (number > 12 ? "Finished." : [text(`Step ${number}`), call("Look", { number })]),
      cut: (number) => number === 10 && cuts++ === 0,
    })
    expect(run.result).toMatchObject({ status: "done", text: "Finished." })
    expect(run.compactions.filter(({ isPart }) => !isPart)).toMatchObject([{ cause: "overflow", turn: 10 }])
    expect(run.records.filter(({ type }) => type === "retry")).toHaveLength(1)
    // Its usage counts although the answer does not.
    expect(run.records.filter(({ type }) => type === "metering")).toHaveLength(1)
    checkRequests(run)
  })

  test("lost words: what people said during the work stays word for word, the task last, before the summary", async () => {
    const run = await runTurns({
      ...talkative,
      turn: chatter,
      steers: [
        [2, "Never touch the ram."],
        [30, "Report in French."],
      ],
    })
    const head = run.compactions.at(-1)?.head?.messages ?? []
    const firsts = head.map(({ content }: Message) => (content[0]?.type === "text" ? content[0].text.slice(0, 30) : ""))
    expect(firsts.slice(0, -1)).toEqual(["Never touch the ram.", "Report in French.", "The task: count the sheep."])
    checkRequests(run, ["Never touch the ram.", "Report in French."])
  })

  test("lost order to work: every head tells the model to go on and not to plan again", async () => {
    const run = await runTurns({ ...talkative, turn: chatter })
    for (const { head } of run.compactions) expect(wordsIn(head?.messages ?? [])).toContain("Do not plan again")
  })
})

test("requests that do not extend the one before are as many as compactions, and no more", async () => {
  const run = await runTurns({ window: 16_000, turns: 100, result: (turn) => `${turn} ${words(500)}` })
  const bodies = run.requests
    .filter(({ isSummary }) => !isSummary)
    .map(({ messages }) => messages.map((m) => JSON.stringify(m)))
  const broken = bodies.slice(1).filter((body, index) => {
    const before = bodies[index] ?? []
    // The last message may have grown: messages of the same role are one.
    return before.some((message, at) => at < before.length - 1 && body[at] !== message)
  })
  expect(run.compactions.length).toBeGreaterThan(2)
  expect(broken).toHaveLength(run.compactions.length)
})

test("dollars: a summary is reserved before it is requested, and its cost is part of the run's", async () => {
  const pricing = { input: 10, output: 50 }
  const run = await runTurns({
    ...talkative,
    turn: chatter,
    config: { resolvePricing: () => pricing, limits: { turns: 500, usd: 100 } },
  })
  const starts = run.records.filter((record) => record.type === "compaction-start")
  expect(starts).toHaveLength(run.compactions.length)
  let cost = 0
  for (const record of run.records) {
    if (record.type === "usage" || record.type === "compaction") cost += record.usage?.costUsd ?? Number.NaN
  }
  expect(run.result.usage.costUsd).toBeCloseTo(cost, 9)
  for (const [index, { usage }] of run.compactions.entries()) {
    expect(usage?.costUsd).toBeGreaterThan(0)
    expect(starts[index]?.reserve?.usd).toBeGreaterThanOrEqual(usage?.costUsd ?? 0)
  }
  expect(run.result.turns).toBe(61)
})

test("dollars: a run without money for a summary ends with its limit", async () => {
  const run = await runTurns({ ...talkative, turn: chatter, config: { limits: { turns: 500, tokens: 60_000 } } })
  expect(run.result.error?.code).toBe("budget_exceeded")
  expect(run.records.filter(({ type }) => type === "compaction-start").length).toBe(run.compactions.length)
})

describe("a process that dies", () => {
  /** The next step follows from the request alone, so that a resumed run goes on where the first one was. */
  const step = ({ messages }: { readonly messages: readonly Message[] }) => {
    const done = Math.max(
      0,
      ...(wordsIn(messages.slice(-1)).match(/result-(\d+)/g) ?? []).map((found) => Number(found.slice(7))),
    )
    return done >= 48 ? "Finished." : [text(`Step ${done + 1}: ${words(400)}`), call("Look", { number: done + 1 })]
  }
  const options = {
    window: 16_000,
    turns: 48,
    result: (turn: number) => `result-${turn}`,
    turn: step,
    config: { limits: { turns: 500, tokens: 10_000_000 } },
  }

  test("a process that dies at any record makes no summary again once it is durable, and the reserve of a lost one counts", async () => {
    const whole = await runTurns(options)
    expect(whole.result.status).toBe("done")
    const heads = (records: readonly RunRecord[]) => records.filter((record) => record.type === "compaction").length
    expect(heads(whole.records)).toBeGreaterThan(1)
    let lost = 0
    for (const last of killedAfter(whole.records)) {
      const prefix = whole.records.slice(0, last + 1)
      const { model, requests } = countingModel({ window: 16_000, turn: step })
      const store = memoryStore()
      const folder = store.folder(runPath({ workspaceId: "default", runId: "r1", nodeId: "main" }))
      // Never released: its process is gone.
      await takeRun(folder, { fresh: true, first: () => prefix.map(({ seq: _, at: __, ...body }): RecordBody => body) })
      const look = defineTool({
        name: "Look",
        description: "Looks.",
        inputSchema: { type: "object" },
        run: (args: { readonly number?: number }) => `result-${args.number}`,
      })
      const runtime = createRuntime({ store, model, backend: native(), tools: [look], ...options.config })
      const result = await runtime.resume({ runId: "r1", takeover: true })
      const after: RunRecord[] = []
      for await (const record of runtime.events("r1")) after.push(record)
      expect(result, `after record ${last}`).toMatchObject({ status: "done", text: "Finished." })
      const summaries = requests.filter(({ isSummary }) => isSummary).length
      expect(summaries + heads(prefix)).toBe(heads(after))
      for (const { messages, isSummary } of requests) if (!isSummary) expect(problemsOf(messages)).toEqual([])
      const cut = prefix.at(-1)
      if (cut?.type !== "compaction-start") continue
      lost++
      const { spent, usage } = project(after)
      expect(spent.tokens - (totalTokens(usage) ?? 0)).toBe(cut.reserve?.tokens)
    }
    expect(lost).toBeGreaterThan(0)
  }, 600_000)
})
