import { describe, test } from "vitest"
import { casesOf } from "./support/backend-cases.ts"
import { benchOf } from "./support/backend-place.ts"
import { playCase, recordedBackends, recordedCases } from "./support/recorded/benches.ts"

describe.each(recordedBackends.map((placed) => [placed.name, placed] as const))(
  "%s passes with the recorded program",
  (_, placed) => {
    const cases = casesOf(benchOf(placed)).filter(([name]) => recordedCases.includes(name))
    test.each(cases)("%s", async (_, each) => playCase(placed, each))
  },
)
