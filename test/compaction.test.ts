import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { call } from "./compaction/counting-model.ts"
import { checkRequests, runTurns, words } from "./compaction/run-turns.ts"

describe("a conversation that grows beyond the window", () => {
  test("the run goes on, every request is whole, fits, has the task and the steers, and equals the journal", async () => {
    const run = await runTurns({
      window: 16_000,
      turns: 120,
      result: (turn) => `${turn}: ${words(400)}`,
      steers: [
        [3, "Mind the black one."],
        [50, "Mind the white one."],
      ],
    })
    expect(run.result).toMatchObject({ status: "done", text: "Finished.", turns: 121 })
    expect(run.compactions.length).toBeGreaterThan(5)
    expect(run.requests.filter(({ isRefused }) => isRefused)).toEqual([])
    checkRequests(run, ["Mind the black one.", "Mind the white one."])
    console.log(
      `16k window, 120 turns: ${run.compactions.filter(({ head }) => head).length} summaries, ` +
        `${run.compactions.filter(({ head }) => !head).length} prunings`,
    )
  })

  test("a server with half the declared window refuses once, and the run learns its window", async () => {
    const run = await runTurns({
      window: 8_000,
      declared: 16_000,
      turns: 60,
      result: (turn) => `${turn}: ${words(300)}`,
    })
    expect(run.result.status).toBe("done")
    expect(run.requests.filter(({ isRefused }) => isRefused)).toHaveLength(1)
    const learned = run.compactions.filter(({ cause, isPart }) => cause === "overflow" && !isPart)
    expect(learned).toMatchObject([{ window: 8_000 }])
    checkRequests(run)
  })
})

test("random runs: the folded conversation equals every request, calls are paired, words survive, and none loops", {
  tags: ["CMP-05"],
  timeout: 3_600_000,
}, async () => {
  const runs = Number(process.env.LONGHAUL_COMPACTIONS ?? 40)
  const seen = { done: 0, compaction_stuck: 0, other: 0, summaries: 0, prunings: 0, refused: 0 }
  const turnOf = fc.record({
    calls: fc.integer({ min: 1, max: 3 }),
    tokens: fc.oneof(fc.integer({ min: 5, max: 600 }), fc.integer({ min: 1000, max: 24_000 })),
    steer: fc.option(fc.integer({ min: 3, max: 40 }), { freq: 6 }),
    summaryFails: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(turnOf, { minLength: 5, maxLength: 60 }),
      fc.constantFrom(8_000, 16_000, 40_000),
      fc.constantFrom(1, 2),
      fc.boolean(),
      async (turns, window, lie, reportsUsage) => {
        const steers = turns.flatMap(({ steer }, index): [number, string][] =>
          steer === null ? [] : [[index + 1, `steer-${index} ${words(steer)}`.trim()]],
        )
        const run = await runTurns({
          window,
          declared: window * lie,
          reportsUsage,
          turns: turns.length,
          turn: (_request, number) => {
            const plan = turns[number - 1]
            if (plan === undefined) return "Finished."
            return Array.from({ length: plan.calls }, () => call("Look", { number }))
          },
          summary: (_request, number) => (turns[number % turns.length]?.summaryFails ? "" : "The summary."),
          result: (number) => words((turns[number - 1]?.tokens ?? 1) / (turns[number - 1]?.calls ?? 1)),
          steers,
        })
        const { status, error } = run.result
        if (status === "done") seen.done++
        else if (error?.code === "compaction_stuck") seen.compaction_stuck++
        else seen.other++
        seen.summaries += run.compactions.filter(({ head }) => head).length
        seen.prunings += run.compactions.filter(({ head }) => !head).length
        seen.refused += run.requests.filter(({ isRefused }) => isRefused).length
        if (status !== "done") expect(error?.code).toBe("compaction_stuck")
        checkRequests(run)
        const { turns: answered } = run.result
        expect(run.requests.filter(({ isSummary }) => isSummary).length).toBeLessThan(answered / 2 + 4)
      },
    ),
    { numRuns: runs, seed: Number(process.env.LONGHAUL_COMPACTION_SEED ?? 7) },
  )
  console.log(`${runs} random runs: ${JSON.stringify(seen)}`)
})

test("a window of 200,000 tokens, 300 turns and results of up to 30 kB need few summaries", async () => {
  const run = await runTurns({
    window: 200_000,
    turns: 300,
    result: (turn) => `${turn}: ${words((turn * 7919) % 7_500)}`,
  })
  const summaries = run.compactions.filter(({ head }) => head).length
  console.log(`200k window, 300 turns: ${summaries} summaries, ${run.compactions.length - summaries} prunings`)
  expect(run.result.status).toBe("done")
  // Each of them is written from everything that it replaces: nothing is removed unread.
  expect(summaries).toBeLessThanOrEqual(12)
  expect(run.compactions.length).toBe(summaries)
  checkRequests(run)
})
