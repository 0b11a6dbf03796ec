import { describe, expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import { createRuntime, defineTool, type Model } from "../src/index.ts"
import { createSimulator, type FaultOrder, renderAnswer, type SimulatedAnswer } from "../src/testing/index.ts"
import { providersUnderTest } from "./support/providers-under-test.ts"

const lookArgs = { path: "notes/a.md", words: ["décision", "☕ tea"], depth: 3 }
const payArgs = { to: "Zoë", cents: 1250, memo: 'for "lunch"\n& coffee' }
const answer: SimulatedAnswer = {
  parts: [
    { reasoning: "First look, then pay.", signature: "sig" },
    { text: "One moment … ☕" },
    { toolCall: { name: "look", args: lookArgs } },
    { toolCall: { name: "pay", args: payArgs } },
  ],
  usage: { inputTokens: 10, outputTokens: 20 },
}

/** One run against a server whose first answer has a fault; returns the arguments of the tool calls that really ran. */
async function runWith(model: (given: typeof fetch) => Model, fault: FaultOrder | null) {
  const called: Record<"look" | "pay", unknown[]> = { look: [], pay: [] }
  const tool = (name: "look" | "pay", effect: "none" | "once") =>
    defineTool({
      name,
      description: name,
      inputSchema: { type: "object" },
      effect,
      run(args) {
        called[name].push(args)
        return "ok"
      },
    })
  const simulator = createSimulator({
    script: ({ lastToolResults }) => (lastToolResults.length > 0 ? "All done." : answer),
    faults: [fault],
  })
  const runtime = createRuntime({
    model: model(simulator.fetch),
    backend: native({ retry: { attempts: 1 } }),
    tools: [tool("look", "none"), tool("pay", "once")],
  })
  const result = await runtime.run({ task: "Look and pay" })
  return { result, called, simulator }
}

describe.each(providersUnderTest)("$name", ({ name, model }) => {
  test("a tool-call stream cut or reset at any byte runs no partial call and ends with a typed error", async () => {
    const whole = await runWith(model, null)
    expect(whole.result).toMatchObject({ status: "done", text: "All done." })
    expect(whole.called).toEqual({ look: [lookArgs], pay: [payArgs] })
    const stream = renderAnswer(answer, whole.simulator.requests[0])
    const length = new TextEncoder().encode(stream).length
    // From here on the answer is complete, whatever is cut: a chat answer is complete with its finish reason.
    const reason = stream.indexOf("\n", stream.indexOf('"finish_reason":"'))
    const complete = new TextEncoder().encode(
      name === "openai chat" ? stream.slice(0, reason) : stream.trimEnd(),
    ).length

    const counts = { runs: 0, typed: 0, looks: 0, pays: 0, partial: 0 }
    const step = process.env.LONGHAUL_EVERY_BYTE ? 1 : 23
    for (const kind of ["cut", "reset"] as const) {
      for (let atByte = 0; atByte < complete; atByte += step) {
        const { result, called } = await runWith(model, { kind, atByte })
        const where = `${kind} at byte ${atByte} of ${length}`
        counts.runs++
        counts.looks += called.look.length
        counts.pays += called.pay.length
        counts.partial += called.look.filter((args) => JSON.stringify(args) !== JSON.stringify(lookArgs)).length
        expect(called.look.length, where).toBeLessThanOrEqual(1)
        expect(result.status, where).toBe("failed")
        expect(result.error, where).toMatchObject({
          code: kind === "cut" ? "stream_incomplete" : "network",
          retryable: true,
        })
        expect(result.toolCalls, where).toEqual([])
        counts.typed++
      }
    }
    console.log(
      `byte cuts, ${name}: ${counts.runs} runs over ${length} bytes, ${counts.typed} typed outcomes, ` +
        `${counts.partial} partial calls, ${counts.pays} effects, ${counts.looks} harmless early calls`,
    )
    const runs = 2 * Math.ceil(complete / step)
    expect(counts).toMatchObject({ runs, typed: runs, partial: 0, pays: 0 })
    // Otherwise the test would not show that early started calls had complete arguments.
    expect(counts.looks).toBeGreaterThan(0)
  })
})
