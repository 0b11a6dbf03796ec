import { expect, test } from "vitest"
import { withRuntime } from "../../src/testing/backend-bench.ts"
import { openPlace } from "../support/backend-place.ts"
import { allBackends } from "./benches.ts"

const vendors = allBackends.filter(({ own }) => own !== undefined)

test.each(
  vendors.flatMap((placed) =>
    ["0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1", "no such session"].map((id) => [placed.name, id, placed] as const),
  ),
)("%s fails as session_lost for the unknown session %s, and asks no model", async (_, providerSessionId, placed) => {
  const place = await openPlace({ script: () => "never" }, placed.configure)
  try {
    const result = await withRuntime(place, { tools: [] }, (runtime) => runtime.run({ task: "Go.", providerSessionId }))
    expect(result).toMatchObject({ status: "failed", error: { code: "session_lost" }, turns: 0 })
    expect(place.simulator.requests).toEqual([])
  } finally {
    await place.close()
  }
})
