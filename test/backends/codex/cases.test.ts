import { describe, test } from "vitest"
import { casesOf } from "../../support/backend-cases.ts"
import { benchOf } from "../../support/backend-place.ts"
import { placedCodex } from "../codex-bench.ts"

const bench = benchOf(placedCodex)

describe("codex passes the cases of all backends", () => {
  test.each(casesOf(bench))("%s", async (_, each) => each.run(bench))
})
