import { describe, test } from "vitest"
import { claudeSdk } from "../../src/backends/claude-sdk/index.ts"
import { backendCases } from "../../src/testing/index.ts"
import { claudeBench } from "./claude-bench.ts"
import { describeClaude } from "./claude-cases.ts"
import { programs } from "./programs.ts"

const sdk = await import(programs.claudeSdk)
const bench = claudeBench("claude-sdk", (options) => claudeSdk({ ...options, sdk }))

describe("claude-sdk passes the cases of all backends", () => {
  test.each(backendCases.map((each) => [each.name, each] as const))("%s", async (_, each) => each.run(bench))
})

describeClaude(bench)
