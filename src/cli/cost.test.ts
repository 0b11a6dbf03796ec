import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import type { RunRecord } from "../contract/event.ts"
import type { RunResult } from "../contract/result.ts"
import { createCostSum } from "./cost-sum.ts"
import { localTime } from "./format.ts"

const { longhaul, json, simulate } = commandLine()

const usage = { inputTokens: 1000, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 }

/** Two runs of one turn at $0.0045 each, one run of two turns without a price. */
async function threeRuns(): Promise<readonly RunResult[]> {
  await simulate({
    script: ({ model, lastToolResults }) => ({
      parts:
        model === "unheard-of" && lastToolResults.length === 0
          ? [{ toolCall: { name: "List", args: {} } }]
          : [{ text: "Done." }],
      usage,
    }),
  })
  const results: RunResult[] = []
  for (const [runId, model] of [
    ["one", "claude-sonnet-4-6"],
    ["two", "claude-sonnet-4-6"],
    ["odd", "unheard-of"],
  ]) {
    results.push(
      (await json(["run", "--json", "--run-id", `${runId}`, "--model", `anthropic:${model}`, "Go"])) as RunResult,
    )
  }
  return results
}

test("cost sums up by model, and calls without a price are listed as unpriced, not as free", async () => {
  await threeRuns()
  expect(await json(["cost", "--json"])).toEqual({
    by: "model",
    since: null,
    rows: [
      { model: "claude-sonnet-4-6", runs: 2, turns: 2, ...twice, costUsd: expect.closeTo(0.009), unpricedCalls: 0 },
      { model: "unheard-of", runs: 1, turns: 2, ...twice, costUsd: null, unpricedCalls: 2 },
    ],
    total: {
      runs: 3,
      turns: 4,
      ...twice,
      inputTokens: 4000,
      outputTokens: 400,
      costUsd: expect.closeTo(0.009),
      unpricedCalls: 2,
    },
    unreadable: [],
  })
  const { code, stdout } = await longhaul(["cost"])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^claude-sonnet-4-6 +2 +2 +2000 +200 +0 +0 +\$0\.0090$/m)
  expect(stdout).toMatch(/^unheard-of +1 +2 +2000 +200 +0 +0 +cost unknown$/m)
  expect(stdout).toMatch(/^total +3 +4 +4000 +400 +0 +0 +\$0\.0090 \+ 2 unpriced calls$/m)
})

const twice = { inputTokens: 2000, outputTokens: 200, cacheReadTokens: 0, cacheWriteTokens: 0 }

test("cost --by run, --by day and --since group and filter the calls", async () => {
  const results = await threeRuns()
  const byRun = (await json(["cost", "--json", "--by", "run"])) as { rows: readonly { run: string; costUsd: number }[] }
  expect(byRun.rows.map(({ run, costUsd }) => [run, costUsd])).toEqual([
    ["odd", null],
    ["two", expect.closeTo(0.0045)],
    ["one", expect.closeTo(0.0045)],
  ])
  const days = [...new Set(results.map(({ timestamp }) => localTime(timestamp).slice(0, 10)))]
  const byDay = (await json(["cost", "--json", "--by", "day"])) as { rows: readonly { day: string }[] }
  expect(byDay.rows.map(({ day }) => day)).toEqual(days)

  for (const since of ["1h", "7d", "2w", "2001-01-01", "2001-01-01T06:30"]) {
    expect(await json(["cost", "--json", "--since", since])).toMatchObject({ total: { runs: 3 } })
  }
  expect(await json(["cost", "--json", "--since", "2999-01-01"])).toMatchObject({
    rows: [],
    total: { runs: 0, costUsd: 0 },
  })
  expect((await longhaul(["cost", "--since", "2999-01-01"])).stdout).toContain("has called a model")
})

test("cost names a run that cannot be read and sums up the others", async () => {
  const [first] = await threeRuns()
  const shard = join(first?.transcript.path ?? "", "000000.jsonl")
  // A damaged flush before a complete one is damage, not a torn end.
  await writeFile(shard, (await readFile(shard, "utf8")).replace('"run-start"', '"run-stray"'))
  const { code, stdout, stderr } = await longhaul(["cost", "--json"])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({ total: { runs: 2 }, unreadable: ["one"] })
  expect(stderr).toContain("error storage:")
})

test.each([
  [["--by", "moon"], "Use one of: model, day, run"],
  [["--since", "yesterday"], "Use a day such as"],
  [["extra"], "Unexpected argument for cost"],
])("cost %j exits with 2 and prints a fix", async (args, advice) => {
  const { code, stderr } = await longhaul(["cost", ...args])
  expect(code).toBe(2)
  expect(stderr).toContain(advice)
})

test("a run with several models counts for each model and as one run; an unknown count stays unknown", () => {
  const call = (model: string, more: object) =>
    ({
      type: "usage",
      seq: 0,
      at: 5,
      turn: 1,
      model,
      stopReason: "end",
      usage: { ...usage, costUsd: 1, ...more },
    }) as RunRecord
  const sum = createCostSum("model", 5)
  sum.addRun({ id: "a", records: [call("x", {}), call("y", { cacheWriteTokens: null }), { ...call("x", {}), at: 4 }] })
  sum.addRun({ id: "b", records: [call("x", { costUsd: null })] })
  expect(sum.rows()).toEqual([
    ["x", { runs: 2, turns: 2, ...twice, costUsd: 1, unpricedCalls: 1 }],
    ["y", { runs: 1, turns: 1, ...usage, cacheWriteTokens: null, costUsd: 1, unpricedCalls: 0 }],
  ])
  expect(sum.total()).toMatchObject({ runs: 2, turns: 3, inputTokens: 3000, cacheWriteTokens: null, costUsd: 2 })
})
