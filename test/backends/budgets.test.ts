import { expect, test } from "vitest"
import { isMain, withRuntime } from "../../src/testing/backend-bench.ts"
import { openPlace } from "../support/backend-place.ts"
import { allBackends } from "./benches.ts"

const TOKENS = 10_000
const usage = { inputTokens: TOKENS, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

/** Those that say nothing of their usage before the end of a prompt. */
const tooLate = ["acp:gemini", "acp:opencode"]
const vendors = allBackends.filter(({ own }) => own !== undefined)

test.each(vendors.filter(({ name }) => !tooLate.includes(name)).map((placed) => [placed.name, placed] as const))(
  "%s stops at its limit of tokens, one request later at most",
  async (name, placed) => {
    let requests = 0
    const place = await openPlace(
      {
        script(request) {
          if (!isMain(request)) return "A title"
          requests++
          if (requests > 12) return { parts: [{ text: "Done." }], usage }
          return { parts: [{ toolCall: placed.speaks.command(`echo ${requests}`) }], usage }
        },
      },
      placed.configure,
    )
    try {
      const result = await withRuntime(place, { policy: { mode: "auto" }, tools: [] }, (runtime) =>
        runtime.run({ task: "Go.", limits: { tokens: 3 * TOKENS } }),
      )
      console.log(
        `${name}: ${requests} requests of ${TOKENS} tokens, limit ${3 * TOKENS}, reported ${result.usage.inputTokens}`,
      )
      expect(result).toMatchObject({ error: { code: "budget_exceeded" } })
      expect(requests).toBeLessThanOrEqual(4)
      expect(result.usage.inputTokens).toBeGreaterThanOrEqual(3 * TOKENS)
    } finally {
      await place.close()
    }
  },
)

test.each(vendors.filter(({ name }) => tooLate.includes(name)).map((placed) => [placed.name, placed] as const))(
  "%s refuses a limit of tokens, which it could not keep",
  async (_, placed) => {
    const place = await openPlace({ script: () => "never" }, placed.configure)
    try {
      const result = await withRuntime(place, { tools: [] }, (runtime) =>
        runtime.run({ task: "Go.", limits: { tokens: 1000 } }),
      )
      expect(result).toMatchObject({ status: "failed", error: { code: "capability_mismatch" } })
      expect(place.simulator.requests).toEqual([])
    } finally {
      await place.close()
    }
  },
)
