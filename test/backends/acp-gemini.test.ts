import { describe, expect, test } from "vitest"
import { casesOf, smokeCases } from "../support/backend-cases.ts"
import { benchOf } from "../support/backend-place.ts"
import { placedGemini } from "./acp-bench.ts"
import { isWhole, runCommandAsTask, runWithPlanted, usageOfTwoPrompts } from "./acp-cases.ts"

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

test.runIf(isWhole)("settings of the workspace do not turn Gemini's questions off", async () => {
  const settings = JSON.stringify({ tools: { allowed: ["write_file"] }, general: { defaultApprovalMode: "auto_edit" } })
  const { result, written } = await runWithPlanted(placedGemini, ".gemini/settings.json", settings)
  expect(result.toolCalls).toMatchObject([{ name: "Write", status: "denied" }])
  expect(written).toBeNull()
})
