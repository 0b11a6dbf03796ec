import { expect, test } from "vitest"
import type { RuntimeConfig } from "../../src/contract/run.ts"
import { counting, isMain } from "../../src/testing/backend-bench.ts"
import type { SimulatedRequest } from "../../src/testing/index.ts"
import { openPlace, type PlacedBackend } from "../support/backend-place.ts"
import { placedBackends } from "./benches.ts"

const pairs = placedBackends.flatMap((first) =>
  placedBackends
    .filter((second) => second !== first)
    .map((second) => [first.name, second.name, first, second] as const),
)

/** One place for two backends: the first loses its model after the effect, the second finishes. */
async function failOver(first: PlacedBackend, second: PlacedBackend) {
  const { tool, done } = counting()
  let isDown = false
  const letter = (request: SimulatedRequest) => /letter \d to \w+/.exec(JSON.stringify(request.messages))?.[0]
  const place = await openPlace(
    {
      script(request) {
        if (!isMain(request)) return "A title"
        const sent = letter(request)
        return sent === undefined ? { parts: [{ toolCall: first.ours("send", { to: "Ada" }) }] } : `I read: ${sent}`
      },
      faults(request) {
        if (done.length > 0 && isMain(request) && !hasMoved) isDown = true
        return isDown && !hasMoved ? { kind: "status", status: 529 } : null
      },
    },
    (facts) => {
      const chain = [first, second].map((each) => entryOf(each.configure(facts)))
      return { chain }
    },
  )
  let hasMoved = false
  const runtime = place.runtime({ tools: [tool] })
  const result = await runtime.run({
    task: "Send a letter to Ada, then say what you sent.",
    onEvent(event) {
      if (event.type === "failover") hasMoved = true
    },
  })
  await runtime.close()
  const left = await place.leftovers()
  await place.close()
  return { result, done, left }
}

function entryOf({ backend, model }: Partial<RuntimeConfig>) {
  return { ...(backend && { backend }), ...(model && { model }) }
}

test.each(pairs)(
  "a run moves from %s to %s after one effect, and finishes with what the first did",
  async (from, to, first, second) => {
    const { result, done, left } = await failOver(first, second)
    expect(result, JSON.stringify(result, undefined, 1)).toMatchObject({
      status: "done",
      backend: to,
      failover: [{ backend: from, retryable: true }],
    })
    expect(result.text).toContain("I read: letter 1 to Ada")
    expect(done).toEqual([{ to: "Ada" }])
    expect(left).toBe(0)
  },
)
