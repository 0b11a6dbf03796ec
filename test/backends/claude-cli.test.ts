import { describe, test } from "vitest"
import { casesOf } from "../support/backend-cases.ts"
import { benchOf } from "../support/backend-place.ts"
import { placeClaudeCli, placedClaudeCli } from "./claude-bench.ts"
import { describeClaude } from "./claude-cases.ts"

const bench = benchOf(placedClaudeCli)

describe("claude-cli passes the cases of all backends", () => {
  test.each(casesOf(bench))("%s", async (_, each) => each.run(bench))
})

describeClaude(placeClaudeCli)
