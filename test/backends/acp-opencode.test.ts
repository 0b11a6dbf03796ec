import { describe, test } from "vitest"
import { casesOf, smokeCases } from "../support/backend-cases.ts"
import { benchOf } from "../support/backend-place.ts"
import { placedOpencode } from "./acp-bench.ts"

const bench = benchOf(placedOpencode)

describe("acp:opencode passes the cases of all backends", () => {
  test.each(casesOf(bench, smokeCases))("%s", async (_, each) => each.run(bench))
})
