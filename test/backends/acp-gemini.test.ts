import { describe, test } from "vitest"
import { casesOf, smokeCases } from "../support/backend-cases.ts"
import { geminiBench } from "./acp-bench.ts"

describe("acp:gemini passes the cases of all backends", () => {
  test.each(casesOf(geminiBench, smokeCases))("%s", async (_, each) => each.run(geminiBench))
})
