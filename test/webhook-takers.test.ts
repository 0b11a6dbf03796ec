import { describe, expect, test, vi } from "vitest"
import { createRuntime } from "../src/hosts/node/index.ts"
import { processOwner } from "../src/hosts/node/owner.ts"
import type { RunEvent, Runtime, RuntimeConfig, Store } from "../src/index.ts"
import { Ownership } from "../src/journal/ownership.ts"
import { runPath, shardName } from "../src/journal/paths.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { taskTools } from "../src/tools/index.ts"
import { verifyWebhook } from "../src/webhooks/index.ts"
import { until } from "./support/watchdog.ts"
import type { Answer, Receiver } from "./webhooks/receiver.ts"
import { secret, webhookScene } from "./webhooks/webhook-scene.ts"

const scene = webhookScene()
const receiver = (answer?: Answer) => scene.receiver(answer)

function runtimeFor({ host }: Receiver, steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  const settings = { model: scriptedModel(steps), tools: [], secrets: { HOOK: secret }, env: {} }
  return scene.opened(createRuntime({ ...settings, webhookAllow: [host], ...config }))
}

const statusOf = async (runtime: Runtime) => (await runtime.webhookDeliveries("r")).at(-1)?.status
const key = { workspaceId: "default", runId: "r", nodeId: "main" }
/** Higher than any Linux pid: no process has it. */
const dead = { ...processOwner(), pid: 2 ** 23 }

/** A run that has ended, whose receiver failed once: the next attempt is due now, and no process makes it. */
async function owing(hook: Receiver): Promise<Store> {
  const store = memoryStore()
  const first = runtimeFor(hook, ["Done."], { store })
  await first.start({ task: "x", runId: "r", webhook: { url: hook.url, secretRef: "HOOK" } })
  await until(async () => (await first.webhookDeliveries("r")).at(-1)?.attempts.length === 1 && vi.getTimerCount() > 0)
  await first.close()
  await vi.advanceTimersByTimeAsync(10_000)
  return store
}

/** A process creates the next shard to take the run, and gets no further. */
async function take(store: Store, shard: number, owner: object): Promise<void> {
  await store.folder(runPath(key)).append?.open(shardName(shard), new Ownership({ ...owner }).claim)
}

describe("deliverWebhooks of another process, for an ended run that owes its webhook", () => {
  const failsOnce: Answer = (index) => (index === 0 ? 500 : 204)

  test.each([1, 3])("another process delivers the end once, although %s takers died on top of it", async (takers) => {
    const hook = await receiver(failsOnce)
    const store = await owing(hook)
    for (let shard = 1; shard <= takers; shard++) await take(store, shard, dead)
    const second = runtimeFor(hook, [], { store })
    expect(await second.deliverWebhooks()).toEqual([{ runId: "r", nodeId: "main" }])
    await until(async () => (await statusOf(second)) === "delivered")
    expect(hook.got).toHaveLength(2)
    expect(hook.got[1]).toMatchObject({ headers: { "longhaul-event": "status.done" }, result: { status: "done" } })
    expect(hook.got[1]?.headers["webhook-id"]).toBe(hook.got[0]?.headers["webhook-id"])
    expect(await second.deliverWebhooks()).toEqual([])
    expect(hook.got).toHaveLength(2)
  })

  test("another process finds the end later, if a live taker hides it at first", async () => {
    const hook = await receiver(failsOnce)
    const store = await owing(hook)
    await take(store, 1, processOwner())
    const second = runtimeFor(hook, [], { store })
    expect(await second.deliverWebhooks()).toEqual([])
    await store.folder(runPath(key)).delete(shardName(1))
    await take(store, 1, dead)
    expect(await second.deliverWebhooks()).toEqual([{ runId: "r", nodeId: "main" }])
    await until(async () => {
      await vi.advanceTimersByTimeAsync(500)
      return (await statusOf(second)) === "delivered"
    })
    expect(hook.got).toHaveLength(2)
    expect(hook.got[1]).toMatchObject({ result: { status: "done" } })
  })
})

test("the end is delivered, although a live process begins to take the run just before it is sent, and dies", async () => {
  const hook = await receiver()
  const store = memoryStore()
  const taking: Promise<void>[] = []
  const onEvent = ({ type }: RunEvent) => {
    if (type === "run-end") taking.push(take(store, 1, processOwner()))
  }
  const first = runtimeFor(hook, ["Done."], { store })
  await first.start({ task: "x", runId: "r", onEvent, webhook: { url: hook.url, secretRef: "HOOK" } })
  await until(() => taking.length > 0 && vi.getTimerCount() > 0)
  expect(hook.got).toEqual([])
  await store.folder(runPath(key)).delete(shardName(1))
  await until(async () => {
    await vi.advanceTimersByTimeAsync(500)
    return hook.got.length > 0
  })
  expect(hook.got).toMatchObject([{ headers: { "longhaul-event": "status.done" }, result: { status: "done" } }])
})

test("the body of a webhook names the tenant and has the metadata, of a pause as of the end", async () => {
  const hook = await receiver()
  const metadata = { customer: 17, tags: ["a", null] }
  const asks: RuntimeConfig = { hooks: { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) } }
  const steps = [{ parts: [{ toolCall: { name: "TaskList", args: {} } }] }, "Done."]
  const runtime = runtimeFor(hook, steps, { store: memoryStore(), workspaceId: "acme", tools: taskTools(), ...asks })
  await runtime.start({ task: "x", runId: "r", metadata, webhook: { url: hook.url, secretRef: "HOOK" } })
  await until(() => hook.got.length === 1)
  await runtime.resumeAsync({ runId: "r", decision: "approve" })
  await until(() => hook.got.length === 2)
  expect(hook.got.map(({ result }) => result)).toMatchObject([
    { status: "paused", workspaceId: "acme", metadata },
    { status: "done", workspaceId: "acme", metadata },
  ])
  for (const { headers, body } of hook.got) {
    expect(await verifyWebhook({ headers, body, secrets: secret })).toMatchObject({ workspaceId: "acme", metadata })
  }
})
