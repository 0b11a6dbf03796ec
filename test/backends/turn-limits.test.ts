import { expect, test } from "vitest"
import { isMain, withRuntime } from "../../src/testing/backend-bench.ts"
import { openPlace } from "../support/backend-place.ts"
import { allBackends } from "./benches.ts"

test.each(allBackends.filter(({ own }) => own !== undefined).map((placed) => [placed.name, placed] as const))(
  "%s makes as many requests as it has turns",
  async (_, placed) => {
    for (const turns of [1, 3]) {
      let requests = 0
      const place = await openPlace(
        {
          script(request) {
            if (!isMain(request)) return "A title"
            requests++
            return { parts: [{ toolCall: placed.speaks.command(`echo ${requests} >> ran.txt`) }] }
          },
        },
        placed.configure,
      )
      try {
        await withRuntime(place, { policy: { mode: "auto" }, tools: [] }, async (runtime) => {
          const limited = { status: "failed", error: { code: "max_turns" }, turns }
          expect(await runtime.run({ task: "Go.", runId: "r", limits: { turns } })).toMatchObject(limited)
          expect(await runtime.resume({ runId: "r" })).toMatchObject(limited)
          expect(requests).toBe(turns)
          await runtime.resume({ runId: "r", limits: { turns: turns + 1 } })
          expect(requests).toBe(turns + 1)
        })
      } finally {
        await place.close()
      }
    }
  },
)
