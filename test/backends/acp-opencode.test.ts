import { describe, expect, test } from "vitest"
import { withRuntime } from "../../src/testing/backend-bench.ts"
import { casesOf, smokeCases } from "../support/backend-cases.ts"
import { benchOf } from "../support/backend-place.ts"
import { placedOpencode } from "./acp-bench.ts"
import { isWhole, runCommandAsTask, runWithPlanted, usageOfTwoPrompts } from "./acp-cases.ts"

const bench = benchOf(placedOpencode)

describe("acp:opencode passes the cases of all backends", () => {
  test.each(casesOf(bench, smokeCases))("%s", async (_, each) => each.run(bench))
})

test.runIf(isWhole)("a task that reads like a command of opencode reaches the model instead", async () => {
  const { result, isSeen, file } = await runCommandAsTask(bench, "/init")
  expect(isSeen).toBe(true)
  expect(file).toBeNull()
  expect(result.toolCalls).toMatchObject([{ name: "Write", status: "denied" }])
})

test.runIf(isWhole)("opencode's tokens of each prompt and its running count of dollars are recorded once", async () => {
  const { result, requests } = await usageOfTwoPrompts(bench)
  expect(requests).toBe(2)
  expect(result.usage).toMatchObject({ inputTokens: 2000, outputTokens: 20 })
  expect(result.usage.costUsd).toBeCloseTo((2000 * 1 + 20 * 2) / 1_000_000, 6)
})

test.runIf(isWhole)(
  "a model server that keeps failing ends the run as stalled: opencode repeats its request without end",
  async () => {
    const faults = () => ({ kind: "status", status: 429 }) as const
    const place = await bench.open({ script: () => "never", faults })
    try {
      const result = await withRuntime(place, { tools: [], deadlines: { idleMs: 15_000 } }, (runtime) =>
        runtime.run({ task: "Try." }),
      )
      expect(result).toMatchObject({ status: "failed", error: { code: "stream_stalled" } })
      expect(await place.leftovers()).toBe(0)
    } finally {
      await place.close()
    }
  },
)

test.runIf(isWhole)(
  "permissions in the user's settings, also for one agent, do not turn opencode's questions off",
  async () => {
    const agent = { build: { permission: { edit: "allow", "*": "allow" } } }
    const settings = JSON.stringify({ permission: { edit: "allow" }, agent })
    const { result, written } = await runWithPlanted(placedOpencode, "../home/.config/opencode/opencode.json", settings)
    expect(result.toolCalls).toMatchObject([{ name: "Write", status: "denied" }])
    expect(written).toBeNull()
  },
)
