import { describe, test } from "vitest"
import { claudeCli } from "../../src/backends/claude-cli/index.ts"
import { backendCases } from "../../src/testing/index.ts"
import { claudeBench } from "./claude-bench.ts"
import { describeClaude } from "./claude-cases.ts"

const bench = claudeBench("claude-cli", claudeCli)

describe("claude-cli passes the cases of all backends", () => {
  test.each(backendCases.map((each) => [each.name, each] as const))("%s", async (_, each) => each.run(bench))
})

describeClaude(bench)
