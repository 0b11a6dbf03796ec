import { expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import { createRuntime, defineTool } from "../src/index.ts"
import { anthropic } from "../src/providers/anthropic/index.ts"
import { createSimulator, type FaultOrder, renderAnswer, type SimulatedAnswer } from "../src/testing/index.ts"

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

/** One run against a server whose first answer has a fault; what its tools were really called with. */
async function runWith(fault: FaultOrder | null) {
  const called: Record<"look" | "pay", unknown[]> = { look: [], pay: [] }
  const tool = (name: "look" | "pay", effect: "none" | "once") =>
    defineTool({
      name,
      description: name,
      input: { type: "object" },
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
    model: anthropic({ model: "claude-test", apiKey: "key", fetch: simulator.fetch }),
    backend: native({ retry: { attempts: 1 } }),
    tools: [tool("look", "none"), tool("pay", "once")],
  })
  const result = await runtime.run({ task: "Look and pay" })
  return { result, called, simulator }
}

test("a tool-call stream cut or reset at every byte runs no partial call and always ends typed", {
  timeout: 180_000,
}, async () => {
  const whole = await runWith(null)
  expect(whole.result).toMatchObject({ status: "done", text: "All done." })
  expect(whole.called).toEqual({ look: [lookArgs], pay: [payArgs] })
  const stream = renderAnswer(answer, whole.simulator.requests[0])
  const length = new TextEncoder().encode(stream).length
  const lookIsWhole = byteAfterBlock(stream, 2)

  const counts = { runs: 0, typed: 0, looks: 0, pays: 0, partial: 0 }
  for (const kind of ["cut", "reset"] as const) {
    for (let atByte = 0; atByte < length; atByte++) {
      const { result, called } = await runWith({ kind, atByte })
      const where = `${kind} at byte ${atByte} of ${length}`
      counts.runs++
      counts.looks += called.look.length
      counts.pays += called.pay.length
      counts.partial += called.look.filter((args) => JSON.stringify(args) !== JSON.stringify(lookArgs)).length
      if (atByte < lookIsWhole) counts.partial += called.look.length
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
    `byte cuts: ${counts.runs} runs over ${length} bytes, ${counts.typed} typed outcomes, ` +
      `${counts.partial} partial calls, ${counts.pays} effects, ${counts.looks} harmless early calls`,
  )
  expect(counts).toMatchObject({ runs: 2 * length, typed: 2 * length, partial: 0, pays: 0 })
  // Otherwise the test would not show that what did start early had its arguments whole.
  expect(counts.looks).toBeGreaterThan(0)
})

/** Where the event ends that closes a block: before it, nothing may know the block's arguments as whole. */
function byteAfterBlock(stream: string, index: number): number {
  const mark = `"type":"content_block_stop","index":${index}`
  const start = stream.indexOf(mark)
  expect(start, stream).toBeGreaterThan(0)
  const end = stream.indexOf("\n\n", start) + 2
  return new TextEncoder().encode(stream.slice(0, end)).length
}
