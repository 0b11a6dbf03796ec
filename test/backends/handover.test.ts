import { expect, test } from "vitest"
import type { Model } from "../../src/contract/provider.ts"
import type { RunResult } from "../../src/contract/result.ts"
import { counting, isMain } from "../../src/testing/backend-bench.ts"
import type { SimulatedRequest } from "../../src/testing/index.ts"
import { openPlace } from "../support/backend-place.ts"
import { placedNative } from "../support/placed-native.ts"
import { placedClaudeCli } from "./claude-place.ts"
import { placedCodex } from "./codex-bench.ts"

const keys = (result: RunResult) =>
  Object.keys(result)
    .filter((key) => !["pause", "data"].includes(key))
    .sort()

test("a run that paused on Claude is approved and finished on Codex, then forked and finished on native", async () => {
  const { tool, done } = counting()
  const letter = ({ messages }: SimulatedRequest) => /letter \d to \w+/.exec(JSON.stringify(messages))?.[0]
  const models: (Model | string | undefined)[] = []
  const place = await openPlace(
    {
      script(request) {
        if (!isMain(request)) return "A title"
        const sent = letter(request)
        if (sent === undefined) return { parts: [{ toolCall: placedClaudeCli.ours("send", { to: "Ada" }) }] }
        return `${request.protocol} read: ${sent}`
      },
    },
    (facts) => {
      const [claude, codex, native] = [placedClaudeCli, placedCodex, placedNative].map((each) => each.configure(facts))
      models.push(codex?.model, native?.model)
      return { ...claude, backends: [claude, codex].flatMap((each) => each?.backend ?? []) }
    },
  )
  const config = { tools: [tool], policy: { rules: [{ ask: { tool: "send" }, via: "pause" as const }] } }
  const modelAt = (index: number) => (models[index] === undefined ? {} : { model: models[index] })
  const one = place.runtime(config)
  const paused = await one.run({ task: "Send a letter to Ada." })
  await one.close()
  expect(paused).toMatchObject({
    status: "paused",
    backend: "claude-cli",
    pause: { pendingToolCall: { name: "send" } },
  })

  const two = place.runtime(config)
  const { ticket = "" } = paused.pause?.pendingToolCall ?? {}
  const finished = await two.resume({
    runId: paused.runId,
    decision: "approve",
    ticket,
    backend: "codex",
    ...modelAt(0),
  })
  expect(finished, JSON.stringify(finished.error)).toMatchObject({
    status: "done",
    backend: "codex",
    runId: paused.runId,
  })
  expect(finished.text).toContain("read: letter 1 to Ada")

  const { runId } = await two.fork(finished.runId)
  const forked = await two.resume({ runId, answer: "And on native?", backend: "native", ...modelAt(1) })
  expect(forked, JSON.stringify(forked.error)).toMatchObject({ status: "done", backend: "native" })
  expect(forked.text).toBe("anthropic read: letter 1 to Ada")
  expect(done).toEqual([{ to: "Ada" }])
  const choices: string[] = []
  for await (const record of two.events(forked.runId)) if (record.type === "choice") choices.push(record.backend)
  expect(choices).toEqual(["claude-cli", "codex", "native"])
  expect([finished, forked].map(keys)).toEqual([keys(paused), keys(paused)])
  await two.close()
  expect(await place.leftovers()).toBe(0)
  await place.close()
})
