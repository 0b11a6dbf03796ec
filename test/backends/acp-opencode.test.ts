import { describe, test } from "vitest"
import { casesOf, smokeCases } from "../support/backend-cases.ts"
import { opencodeBench } from "./acp-bench.ts"

describe("acp:opencode passes the cases of all backends", () => {
  test.each(casesOf(opencodeBench, smokeCases))("%s", async (_, each) => each.run(opencodeBench))
})
