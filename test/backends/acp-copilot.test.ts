import { describe, test } from "vitest"
import { casesOf, smokeCases } from "../support/backend-cases.ts"
import { benchOf } from "../support/backend-place.ts"
import { placedCopilot } from "./acp-bench.ts"

const bench = benchOf(placedCopilot)

describe("acp:copilot passes the cases of all backends", () => {
  test.each(casesOf(bench, smokeCases))("%s", async (_, each) => each.run(bench))
})
