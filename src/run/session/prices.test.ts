import { expect, test } from "vitest"
import { actingBackend } from "../../../test/support/acting-backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"

const usage = { inputTokens: 10_000, outputTokens: 1000, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }

/** A program that uses a model, and dies before it reports the cost. Counts its sessions. */
function dying(model: string | undefined) {
  const sessions: string[] = []
  const backend = actingBackend(
    async (host) => {
      sessions.push(model ?? "")
      host.emit({ type: "metering", usage, ...(model !== undefined && { model }) })
      return { reason: "failed", failure: new LonghaulError("backend_crashed", "It died.").toJSON() }
    },
    { reportsCost: true, provider: "anthropic", metering: "turn" },
  )
  return { sessions, backend }
}

async function sixLegs(model: string | undefined, config: Partial<RuntimeConfig> = {}) {
  const { sessions, backend } = dying(model)
  const runtime = createRuntime({ store: memoryStore(), backend, limits: { usd: 0.1 }, ...config })
  let result = await runtime.run({ task: "Work.", runId: "r" })
  for (let leg = 1; leg < 6; leg++) result = await runtime.resume({ runId: "r" })
  return { sessions: sessions.length, result }
}

test("what crashed sessions have used counts against the dollars of a run, by the model that the program named", async () => {
  // $0.045 a session: two are below the limit, and the third one is above it.
  const { sessions, result } = await sixLegs("claude-sonnet-4-5")
  expect(sessions).toBe(3)
  expect(result).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
})

test.each([[undefined], ["a-model-that-no-table-has"]])(
  "a run that crashed on the model %s, whose price is not known, opens no further session",
  async (model) => {
    const { sessions, result } = await sixLegs(model)
    expect(sessions).toBe(1)
    expect(result).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
    expect(result.error?.fix).toContain("unknownPrice")
  },
)

test("where unknown prices only warn, and without a limit in dollars, the run goes on", async () => {
  expect((await sixLegs(undefined, { unknownPrice: "warn" })).sessions).toBe(6)
  expect((await sixLegs(undefined, { limits: {} })).sessions).toBe(6)
})
