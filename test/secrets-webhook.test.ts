import { join } from "node:path"
import { expect, test } from "vitest"
import { createRuntime, defineTool, fsStore } from "../src/hosts/node/index.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { cleanups, expectNoLeak, root, scene } from "./secrets/scene.ts"
import { ofRunWebhook } from "./secrets/sentinels.ts"

const own = Object.values(ofRunWebhook)
const text = own.map(({ value }) => value).join(" and ")
const asking = defineTool({
  name: "asking",
  description: "Asks.",
  inputSchema: { type: "object" },
  effect: "once",
  risk: "high",
  run: () => text,
})
const asks = { policy: { ask: "pause" } } as const
const calling = { parts: [{ text }, { toolCall: { name: "asking", args: { text } } }] }

test("a run that is resumed elsewhere with the same webhook masks its secrets there too", async () => {
  const { runtime, sinks, webhook } = await scene([calling], { tools: [asking], ...asks })
  await runtime.start({ runId: "r", task: text, webhook })
  expect(await runtime.waitFor("r")).toMatchObject({ status: "paused" })
  await runtime.close()
  const model = scriptedModel([{ parts: [{ text }] }])
  const elsewhere = createRuntime({
    store: fsStore(join(root, "store")),
    workspace: root,
    model,
    tools: [asking],
    ...asks,
    webhookAllow: [new URL(webhook.url).host],
    observers: [{ recordEvent: (event) => sinks.events.push(event) }],
  })
  cleanups.push(() => elsewhere.close())
  await elsewhere.resumeAsync({ runId: "r", decision: "approve", answer: text, webhook })
  const result = await elsewhere.waitFor("r")
  await elsewhere.close()
  sinks.results.push(result)
  sinks.requests.push(model.calls)
  // The call cannot run: a reference to a webhook's secret has no value for tools.
  expect(result).toMatchObject({ status: "done", text: expect.stringContaining("{{secret:webhook/secret1}}") })
  for (const sentinel of own) expectNoLeak(sentinel, sinks)
})

test("the next exchange of a conversation masks the secrets of the webhook that the run was given", async () => {
  const { runtime, sinks, webhook } = await scene(["One.", text])
  await runtime.start({ runId: "r", task: "x", webhook })
  await runtime.waitFor("r")
  const result = await runtime.continue("r", text)
  sinks.results.push(result, await runtime.runs())
  expect(result.text).toBe(
    "{{secret:webhook/secret1}} and {{secret:webhook/x-own}} and {{secret:webhook/authorization}}",
  )
  for (const sentinel of own) expectNoLeak(sentinel, sinks)
})

test("a run that fails to begin reports nothing of its webhook", async () => {
  const { runtime, sinks, webhook } = await scene(["One."])
  await runtime.run({ task: "x" })
  // Safe: it is meant to be refused.
  const started = await runtime.start({ task: "x", effort: text as "low", webhook }).catch((error: unknown) => error)
  sinks.results.push(started, String(started))
  for (const sentinel of own) expectNoLeak(sentinel, sinks)
})

test("other runs are not affected by the webhook of one", async () => {
  const { runtime, webhook } = await scene(["One.", text])
  await runtime.start({ runId: "r", task: "x", webhook })
  await runtime.waitFor("r")
  expect((await runtime.run({ task: "x" })).text).toBe(text)
})
