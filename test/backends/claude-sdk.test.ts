import { describe, test } from "vitest"
import { casesOf } from "../support/backend-cases.ts"
import { benchOf } from "../support/backend-place.ts"
import { placeClaudeSdk, placedClaudeSdk } from "./claude-bench.ts"
import { describeClaude } from "./claude-cases.ts"

const bench = benchOf(placedClaudeSdk)

describe("claude-sdk passes the cases of all backends", () => {
  test.each(casesOf(bench))("%s", async (_, each) => each.run(bench))
})

describeClaude(placeClaudeSdk)
