import { describe, test } from "vitest"
import { casesOf, smokeCases } from "../support/backend-cases.ts"
import { copilotBench } from "./acp-bench.ts"

describe("acp:copilot passes the cases of all backends", () => {
  test.each(casesOf(copilotBench, smokeCases))("%s", async (_, each) => each.run(copilotBench))
})
