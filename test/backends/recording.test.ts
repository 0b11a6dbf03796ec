import { describe, test } from "vitest"
import { casesOf } from "../support/backend-cases.ts"
import { benchOf } from "../support/backend-place.ts"
import { recordCase, recordedBackends, recordedCases } from "../support/recorded/benches.ts"

/** Only on request: see vitest.backends.config.ts. */
describe.each(recordedBackends.map((placed) => [placed.name, placed] as const))(
  "the conversations with %s are recorded for the tests without it",
  (_, placed) => {
    const cases = casesOf(benchOf(placed)).filter(([name]) => recordedCases.includes(name))
    test.each(cases)("%s", async (_, each) => recordCase(placed, each), 300_000)
  },
)
