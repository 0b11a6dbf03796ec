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
        const result = await withRuntime(place, { policy: { mode: "auto" }, tools: [] }, (runtime) =>
          runtime.run({ task: "Go.", limits: { turns } }),
        )
        expect(result).toMatchObject({ status: "failed", error: { code: "max_turns" }, turns })
        expect(requests).toBe(turns)
      } finally {
        await place.close()
      }
    }
  },
)
