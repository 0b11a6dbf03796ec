import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { isMain, withRuntime } from "../../src/testing/backend-bench.ts"
import { casesOf, smokeCases } from "../support/backend-cases.ts"
import { benchOf, openPlace } from "../support/backend-place.ts"
import { placedGemini } from "./acp-bench.ts"
import { isWhole, runCommandAsTask, usageOfTwoPrompts } from "./acp-cases.ts"

const bench = benchOf(placedGemini)

describe("acp:gemini passes the cases of all backends", () => {
  test.each(casesOf(bench, smokeCases))("%s", async (_, each) => each.run(bench))
})

test.runIf(isWhole)("a task that reads like a command of Gemini CLI reaches the model instead", async () => {
  const { result, isSeen, file } = await runCommandAsTask(bench, "/memory show")
  expect(isSeen).toBe(true)
  expect(file).toBeNull()
  expect(result.toolCalls).toMatchObject([{ name: "Write", status: "denied" }])
})

test.runIf(isWhole)("Gemini's counts of tokens are recorded for each prompt", async () => {
  const { result, requests } = await usageOfTwoPrompts(bench)
  expect(requests).toBe(3)
  expect(result.usage).toMatchObject({ inputTokens: 3000, outputTokens: 30 })
})

// Gemini CLI reads settings of the system only from folders that belong to root.
test.runIf(isWhole && process.getuid?.() === 0)(
  "Gemini makes one attempt at a failing request where the user has not set another number",
  async () => {
    const place = await openPlace(
      { script: () => "never", faults: () => ({ kind: "status", status: 429 }) },
      (facts) => {
        const given = placedGemini.configure(facts)
        const file = join(facts.home, ".gemini/settings.json")
        writeFileSync(file, readFileSync(file, "utf8").replace(', "maxAttempts": 1', ""))
        return given
      },
    )
    try {
      const result = await withRuntime(place, { tools: [] }, (runtime) => runtime.run({ task: "Try." }))
      expect(result.error).toMatchObject({ code: "rate_limited" })
      // The runtime has repeated the turn twice.
      expect(place.simulator.requests.filter(isMain)).toHaveLength(3)
    } finally {
      await place.close()
    }
  },
)
