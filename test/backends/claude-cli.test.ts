import { describe, test } from "vitest"
import { casesOf } from "../support/backend-cases.ts"
import { claudeCliBench as bench } from "./claude-bench.ts"
import { describeClaude } from "./claude-cases.ts"

describe("claude-cli passes the cases of all backends", () => {
  test.each(casesOf(bench))("%s", async (_, each) => each.run(bench))
})

describeClaude(bench)
