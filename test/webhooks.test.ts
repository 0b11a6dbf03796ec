import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Webhook as Reference } from "standardwebhooks"
import { describe, expect, test, vi } from "vitest"
import { createRuntime, fsStore, nodeFetch } from "../src/hosts/node/index.ts"
import { processOwner } from "../src/hosts/node/owner.ts"
import { defineTool, type RunEvent, type Runtime, type RuntimeConfig, type Store } from "../src/index.ts"
import { Ownership } from "../src/journal/ownership.ts"
import { runPath, shardName } from "../src/journal/paths.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { deliver } from "../src/webhooks/deliver.ts"
import { verifyWebhook } from "../src/webhooks/index.ts"
import { until } from "./support/watchdog.ts"
import type { Answer, Receiver } from "./webhooks/receiver.ts"
import { secret, webhookScene } from "./webhooks/webhook-scene.ts"

const pay = defineTool({ name: "pay", description: "Pays.", inputSchema: { type: "object" }, run: () => "paid" })
const callsPay = { parts: [{ toolCall: { name: "pay", args: { euros: 5 } } }] }
const asksFirst: RuntimeConfig = {
  hooks: { gateBeforeTool: (name) => (name === "pay" ? { allow: false, reason: "Ask." } : { allow: true }) },
}
const wait = defineTool({
  name: "wait",
  description: "Waits.",
  inputSchema: { type: "object" },
  run: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped"))),
})
const callsWait = { parts: [{ toolCall: { name: "wait", args: {} } }] }

const scene = webhookScene()
const receiver = (answer?: Answer) => scene.receiver(answer)

function runtimeFor({ host }: Receiver, steps: readonly ScriptedStep[] = ["Done."], config: RuntimeConfig = {}) {
  const settings = { store: memoryStore(), model: scriptedModel(steps), tools: [pay], secrets: { HOOK: secret } }
  return scene.opened(createRuntime({ ...settings, webhookAllow: [host], ...config }))
}

const stateOf = async (runtime: Runtime, runId = "r") => (await runtime.webhookDeliveries(runId)).at(-1)

/** Until an attempt is recorded and the next one, if any, is scheduled. */
const untilTried = (runtime: Runtime, attempts: number) =>
  until(async () => {
    const state = await stateOf(runtime)
    if (state?.attempts.length !== attempts) return false
    return state.status !== "pending" || vi.getTimerCount() > 0
  })
const aFewTurns = async () => {
  for (let turn = 0; turn < 50; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

test("a done background run sends a signed request with its result as the body", {
  tags: ["WH-01", "WH-03", "WH-04", "WH-06"],
}, async () => {
  const hook = await receiver()
  const runtime = runtimeFor(hook)
  expect(await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url, secretRef: "HOOK" } })).toEqual({
    runId: "r",
    nodeId: "main",
    status: "running",
  })
  const result = await runtime.waitFor("r")
  await untilTried(runtime, 1)
  const [{ headers, body, result: told }] = hook.got as [Receiver["got"][number]]
  expect(told).toEqual(result)
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "webhook-id": (await stateOf(runtime))?.id,
    "longhaul-event": "status.done",
    "longhaul-run-id": "r",
    "longhaul-delivery": expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
  expect(new Reference(secret).verify(body, headers)).toEqual(result)
  expect(await verifyWebhook({ headers, body, secrets: secret })).toEqual(result)
})

test("a run that is released and resumed in the foreground notifies its receiver of the end alone", async () => {
  const hook = await receiver()
  const store = memoryStore()
  const webhook = { url: hook.url, secretRef: "HOOK" }
  const first = runtimeFor(hook, [callsPay], { store })
  await first.start({ task: "x", runId: "r", webhook, slice: { turns: 1 } })
  expect(await first.waitFor("r")).toMatchObject({ status: "paused", pause: { reason: "released" } })
  await first.close()
  const second = runtimeFor(hook, ["Done."], { store })
  expect(await second.resume({ runId: "r" })).toMatchObject({ status: "done" })
  await untilTried(second, 1)
  expect(hook.got.map(({ result }) => result)).toMatchObject([{ status: "done" }])
})

describe("a failing receiver", () => {
  test("a failing receiver gets the next attempt on schedule, with the same id and a new signature", {
    tags: ["WH-09", "WH-11", "WH-12"],
  }, async () => {
    const hook = await receiver((index) => (index < 4 ? 500 + index : 200))
    const runtime = runtimeFor(hook)
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url, secretRef: "HOOK" } })
    const delays = [10_000, 60_000, 300_000, 1_800_000]
    for (const [index, delayMs] of delays.entries()) {
      await untilTried(runtime, index + 1)
      const tried = await stateOf(runtime)
      expect(tried?.nextAt).toBe((tried?.attempts.at(-1)?.endedAt ?? 0) + delayMs)
      await vi.advanceTimersByTimeAsync(delayMs * 0.9)
      await aFewTurns()
      expect(hook.got).toHaveLength(index + 1)
      await vi.advanceTimersByTimeAsync(delayMs * 0.1)
      await until(() => hook.got.length === index + 2)
      const { headers, body } = hook.got[index + 1] as Receiver["got"][number]
      expect(new Reference(secret).verify(body, headers)).toMatchObject({ runId: "r", status: "done" })
    }
    await untilTried(runtime, 5)
    const state = await stateOf(runtime)
    expect(state).toMatchObject({ status: "delivered", event: "done", url: hook.url })
    expect(state?.attempts.map(({ attempt, status, httpCode }) => [attempt, status, httpCode])).toEqual([
      [1, "retry", 500],
      [2, "retry", 501],
      [3, "retry", 502],
      [4, "retry", 503],
      [5, "delivered", 200],
    ])
    expect(state?.attempts.map(({ delivery }) => delivery)).toEqual(
      hook.got.map(({ headers }) => headers["longhaul-delivery"]),
    )
    expect(new Set(hook.got.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([state?.id]))
    expect(new Set(hook.got.map(({ headers }) => headers["longhaul-delivery"])).size).toBe(5)
  })

  test("after five failures no more attempts are made until a manual retry", {
    tags: ["ASY-05", "WH-13"],
  }, async () => {
    const hook = await receiver((index) => (index < 5 ? 503 : 200))
    const runtime = runtimeFor(hook)
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url, secretRef: "HOOK" } })
    for (const [index, delayMs] of [10_000, 60_000, 300_000, 1_800_000].entries()) {
      await untilTried(runtime, index + 1)
      await vi.advanceTimersByTimeAsync(delayMs)
    }
    await untilTried(runtime, 5)
    expect(await stateOf(runtime)).toMatchObject({ status: "failed" })
    expect(await runtime.deliverWebhooks()).toEqual([])
    const { id } = await runtime.retryWebhook("r")
    await untilTried(runtime, 6)
    const state = await stateOf(runtime)
    expect(state).toMatchObject({ id, status: "delivered" })
    expect(state?.attempts.at(-1)).toMatchObject({ attempt: 1, status: "delivered" })
    expect(hook.got.at(-1)?.headers).toMatchObject({ "webhook-id": hook.got[0]?.headers["webhook-id"] })
    expect(new Set(hook.got.map(({ headers }) => headers["longhaul-delivery"])).size).toBe(6)
  })

  test("a failing receiver that sends Retry-After gets the longer delay", async () => {
    const hook = await receiver((index, response) => {
      if (index > 0) return 200
      response.writeHead(429, { "retry-after": "30" }).end()
      return undefined
    })
    const runtime = runtimeFor(hook)
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
    await untilTried(runtime, 1)
    await vi.advanceTimersByTimeAsync(27_000)
    await aFewTurns()
    expect(hook.got).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(3_000)
    await untilTried(runtime, 2)
    expect(hook.got[1]?.headers).not.toHaveProperty("webhook-signature")
  })

  test.each([
    ["410", 410],
    ["any other refusal", 422],
    ["a redirect, which is not followed", 307],
  ])("a receiver that fails permanently (%s) gets no further attempt", { tags: ["WH-10"] }, async (_, status) => {
    const hook = await receiver((_index, response) => {
      response.writeHead(status, { location: "/elsewhere" }).end()
      return undefined
    })
    const runtime = runtimeFor(hook)
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
    await untilTried(runtime, 1)
    expect(await stateOf(runtime)).toMatchObject({
      status: "failed",
      attempts: [{ status: "stopped", httpCode: status }],
    })
    await vi.advanceTimersByTimeAsync(3_600_000)
    await aFewTurns()
    expect(hook.got.map(({ path }) => path)).toEqual(["/hook"])
  })

  test("a timeout or a broken connection is retried", { tags: ["WH-08"] }, async () => {
    const hook = await receiver((index, _response, request) => {
      if (index === 1) request.socket.destroy()
      return index === 2 ? 200 : undefined
    })
    const runtime = runtimeFor(hook)
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
    await until(() => hook.got.length === 1)
    await vi.advanceTimersByTimeAsync(29_000)
    await aFewTurns()
    expect((await stateOf(runtime))?.attempts).toEqual([])
    await vi.advanceTimersByTimeAsync(1_000)
    for (const [index, delayMs] of [10_000, 60_000].entries()) {
      await untilTried(runtime, index + 1)
      await vi.advanceTimersByTimeAsync(delayMs)
    }
    await untilTried(runtime, 3)
    const state = await stateOf(runtime)
    expect(state?.attempts.map(({ status, error }) => [status, error])).toEqual([
      ["retry", "No complete response within 30000 ms."],
      ["retry", expect.stringContaining("ECONNRESET")],
      ["delivered", undefined],
    ])
  })

  test("a manual retry sends immediately", async () => {
    const hook = await receiver((index) => (index === 0 ? 500 : 200))
    const runtime = runtimeFor(hook)
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
    await untilTried(runtime, 1)
    const seq = (await stateOf(runtime))?.seq ?? -1
    await expect(runtime.retryWebhook("r", { seq: seq - 1 })).rejects.toMatchObject({ code: "invalid_state" })
    await runtime.retryWebhook("r", { seq })
    await untilTried(runtime, 2)
    expect((await stateOf(runtime))?.attempts.map(({ attempt }) => attempt)).toEqual([1, 1])
  })
})

describe("webhook events", () => {
  test("foreground runs send no webhooks and accept none", { tags: ["WH-02"] }, async () => {
    const hook = await receiver()
    const runtime = runtimeFor(hook, ["One.", callsPay, "Two."], { ...asksFirst, webhook: { url: hook.url } })
    await runtime.run({ task: "x" })
    await runtime.run({ task: "x", runId: "r" })
    expect(await runtime.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "done" })
    expect(await runtime.webhookDeliveries("r")).toEqual([])
    await aFewTurns()
    expect(hook.got).toEqual([])
    const asked = { task: "x", webhook: { url: hook.url } }
    expect(await runtime.run(asked)).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
    const goesOn = { runId: "r", webhook: { url: hook.url } }
    expect(await runtime.resume(goesOn)).toMatchObject({ error: { code: "config_invalid" } })
  })

  test("each pause is sent with its pending call, and the end, whichever process resumed the run", {
    tags: ["WH-14", "WH-15"],
  }, async () => {
    const hook = await receiver()
    const runtime = runtimeFor(hook, [callsPay, callsPay, "Paid twice."], asksFirst)
    const approve = { runId: "r", decision: "approve" } as const
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url, secret } })
    await until(() => hook.got.length === 1)
    await runtime.resumeAsync(approve)
    await until(() => hook.got.length === 2)
    await runtime.resumeAsync(approve)
    await until(() => hook.got.length === 3)
    await runtime.close()
    expect(hook.got.map(({ headers }) => headers["longhaul-event"])).toEqual([
      "status.paused",
      "status.paused",
      "status.done",
    ])
    expect(new Set(hook.got.map(({ headers }) => headers["webhook-id"])).size).toBe(3)
    expect(hook.got[0]?.result).toMatchObject({
      status: "paused",
      data: { question: "Ask.", tool: "pay", args: { euros: 5 } },
      pause: { reason: "approval" },
    })
    for (const { body, headers } of hook.got) new Reference(secret).verify(body, headers)
  })

  test("events are sent only to their configured webhook, without data of another", async () => {
    const before = await receiver((index) => (index === 0 ? 500 : 200))
    const after = await receiver()
    const runtime = runtimeFor(before, [callsPay, "Paid."], { ...asksFirst, webhookAllow: ["127.0.0.1"] })
    const one = { url: before.url, secret, headers: { "x-one": "1" } }
    const two = { url: after.url, secret: "whsec_dHdv", headers: { "x-two": "2" } }
    await runtime.start({ task: "x", runId: "r", webhook: one })
    await untilTried(runtime, 1)
    await runtime.resumeAsync({ runId: "r", decision: "approve", webhook: two })
    await until(() => after.got.length === 1)
    await vi.advanceTimersByTimeAsync(10_000)
    await until(() => before.got.length === 2)
    for (const { headers, body, result } of before.got) {
      expect(headers).toMatchObject({ "x-one": "1", "longhaul-event": "status.paused" })
      expect(headers).not.toHaveProperty("x-two")
      expect(new Reference(secret).verify(body, headers)).toEqual(result)
    }
    expect(after.got[0]?.headers).toMatchObject({ "x-two": "2", "longhaul-event": "status.done" })
    expect(after.got[0]?.headers).not.toHaveProperty("x-one")
  })

  test("the event of a pause keeps its content after the run has continued", async () => {
    const hook = await receiver((index) => (index === 0 ? 500 : 200))
    const runtime = runtimeFor(hook, [callsPay, "Paid."], asksFirst)
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
    await untilTried(runtime, 1)
    expect(await runtime.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "done" })
    await vi.advanceTimersByTimeAsync(10_000)
    await untilTried(runtime, 2)
    expect(hook.got.map(({ result }) => result.status)).toEqual(["paused", "paused"])
  })

  test("a cancelled run, active or paused, is sent to subscribers of failed", async () => {
    const hook = await receiver()
    const store = memoryStore()
    const webhook = { url: hook.url }
    const live = runtimeFor(hook, [callsPay, callsWait], { ...asksFirst, store, tools: [pay, wait] })
    const other = runtimeFor(hook, [], { store })
    await live.start({ task: "x", runId: "waiting", webhook })
    await until(() => hook.got.length === 1)
    await live.start({ task: "x", runId: "live", webhook })
    expect(await other.cancel("waiting")).toBe(true)
    await until(() => hook.got.length === 2)
    expect(await live.cancel("live")).toBe(true)
    await until(() => hook.got.length === 3)
    expect(hook.got.map(({ headers, result }) => [headers["longhaul-event"], result.error?.code])).toEqual([
      ["status.paused", undefined],
      ["status.cancelled", "cancelled"],
      ["status.cancelled", "cancelled"],
    ])
  })

  test("a fork does not repeat the events of its origin", async () => {
    const hook = await receiver()
    const runtime = runtimeFor(hook, [callsPay, "Paid."], asksFirst)
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
    await untilTried(runtime, 1)
    await runtime.fork("r", { newRunId: "fork" })
    expect(await runtime.webhookDeliveries("fork")).toEqual([])
  })

  test("a run with an invalid webhook does not start", async () => {
    const hook = await receiver()
    const runtime = runtimeFor(hook, ["Done."], { webhookAllow: [] })
    const started = await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
    expect(started).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
    expect(await runtime.status("r")).toMatchObject({ status: "not_found" })
    await expect(runtime.webhookDeliveries("r")).rejects.toMatchObject({ code: "not_found" })
  })

  test("a private address behind a public name is never reached and not retried", async () => {
    const hook = await receiver()
    const { post } = nodeFetch({ resolve: async () => ["127.0.0.1"] })
    const url = `http://public.example:${hook.host.split(":")[1]}/hook`
    const { signal } = new AbortController()
    const message = {
      id: "msg_1",
      event: "done",
      runId: "r",
      body: "{}",
      attempt: 1,
      secrets: [],
      headers: {},
    } as const
    expect(await deliver({ ...message, url, signal }, post)).toMatchObject({ status: "stopped" })
    expect(hook.got).toEqual([])
  })
})

describe("another runtime over the same store", () => {
  test("another runtime continues pending deliveries after the remaining delay", async () => {
    const hook = await receiver((index) => (index === 0 ? 500 : 200))
    const store = memoryStore()
    const first = runtimeFor(hook, ["Done."], { store })
    await first.start({ task: "x", runId: "r", webhook: { url: hook.url, secretRef: "HOOK" } })
    await untilTried(first, 1)
    await first.close()
    await vi.advanceTimersByTimeAsync(4_000)
    const second = runtimeFor(hook, [], { store })
    expect(await second.deliverWebhooks()).toEqual([{ runId: "r", nodeId: "main" }])
    await until(() => vi.getTimerCount() > 0)
    await vi.advanceTimersByTimeAsync(5_000)
    await aFewTurns()
    expect(hook.got).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1_000)
    await untilTried(second, 2)
    const [before, after] = hook.got as [Receiver["got"][number], Receiver["got"][number]]
    expect(after.headers["webhook-id"]).toBe(before.headers["webhook-id"])
    expect(after.body).toBe(before.body)
    new Reference(secret).verify(after.body, after.headers)
    expect(await second.deliverWebhooks()).toEqual([])
  })

  test("a delivery whose secret was in memory waits with a warning until the secret is passed again", async () => {
    const hook = await receiver((index) => (index === 0 ? 500 : 200))
    const store = memoryStore()
    const first = runtimeFor(hook, ["Done."], { store })
    await first.start({ task: "x", runId: "r", webhook: { url: hook.url, secret, headers: { "x-token": "t" } } })
    await untilTried(first, 1)
    await first.close()
    await vi.advanceTimersByTimeAsync(10_000)
    const warnings: string[] = []
    const second = runtimeFor(hook, [], { store, logger: { warn: (message) => warnings.push(message) } })
    await second.deliverWebhooks()
    await until(() => warnings.length > 0)
    expect(warnings).toEqual(["A webhook waits: this process does not have a secret or header that it needs."])
    expect(await stateOf(second)).toMatchObject({ status: "waiting" })
    expect(hook.got).toHaveLength(1)
    const third = second.with({ webhook: { url: hook.url, secret, headers: { "x-token": "t" } } })
    scene.opened(third)
    await third.deliverWebhooks()
    await untilTried(third, 2)
    expect(hook.got[1]?.headers).toMatchObject({ "x-token": "t" })
    new Reference(secret).verify(hook.got[1]?.body ?? "", hook.got[1]?.headers ?? {})
  })

  test("a runtime that recovers orphans sends the events of those that it marks", async () => {
    const hook = await receiver()
    const store = memoryStore()
    const stuck = runtimeFor(hook, [callsWait], { store, tools: [wait], owner: { ...processOwner(), pid: 2 ** 23 } })
    await stuck.start({ task: "x", runId: "r", webhook: { url: hook.url } })
    const second = runtimeFor(hook, [], { store })
    expect(await second.recoverOrphanedRuns()).toEqual([{ runId: "r", nodeId: "main" }])
    await until(() => hook.got.length > 0)
    expect(hook.got[0]).toMatchObject({
      headers: { "longhaul-event": "status.failed" },
      result: { error: { code: "orphaned" } },
    })
  })
})

test("recovery sends an unsent pause, even if a dead process had started to take the run", async () => {
  const hook = await receiver()
  const store = memoryStore()
  const first = runtimeFor(hook, [callsPay], { store, ...asksFirst })
  await first.start({ task: "x", runId: "r", webhook: { url: hook.url, secretRef: "HOOK" } })
  await untilTried(first, 1)
  // As if it had died before the attempt, and another process, about to approve, before its first record.
  const path = runPath({ workspaceId: "default", runId: "r", nodeId: "main" })
  for (const name of await store.list(`${path}/outbox`)) await store.folder(path).delete(`outbox/${name}`)
  const dead = new Ownership({ ...processOwner(), pid: 2 ** 23 })
  await store.folder(path).append?.open(shardName(1), dead.claim)
  const second = runtimeFor(hook, ["Done."], { store, ...asksFirst })
  expect(await second.recoverOrphanedRuns()).toEqual([])
  await until(() => hook.got.length === 2)
  expect(hook.got[1]).toMatchObject({ headers: { "longhaul-event": "status.paused" }, result: { status: "paused" } })
  expect(hook.got[1]?.headers["webhook-id"]).toBe(hook.got[0]?.headers["webhook-id"])
  expect(await second.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "done" })
})

test("rotation: each secret signs, so receivers with the old or the new one accept it", async () => {
  const hook = await receiver()
  const next = "whsec_bmV4dCBzZWNyZXQ="
  const runtime = runtimeFor(hook, ["Done."], { secrets: { OLD: secret, NEXT: () => next } })
  await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url, secretRef: ["OLD", "NEXT"] } })
  await untilTried(runtime, 1)
  const [{ headers, body }] = hook.got as [Receiver["got"][number]]
  expect(headers["webhook-signature"]?.split(" ")).toHaveLength(2)
  for (const each of [secret, next]) {
    expect(new Reference(each).verify(body, headers)).toMatchObject({ runId: "r" })
    expect(await verifyWebhook({ headers, body, secrets: each })).toMatchObject({ runId: "r" })
  }
})

test("no webhook secret is stored, logged or published", async () => {
  const sentinel = "sentinel-4711"
  const hook = await receiver((index) => (index === 0 ? 500 : 200))
  const said: unknown[] = []
  const kept: string[] = []
  const note = (...what: unknown[]) => void said.push(what)
  const logger = { debug: note, info: note, warn: note, error: note }
  const observers = [{ recordEvent: (event: RunEvent) => void said.push(event) }]
  const secrets = { HOOK: `${sentinel}-ref`, TOKEN: () => `${sentinel}-header-ref` }
  const runtime = runtimeFor(hook, ["Done."], { store: noting(memoryStore(), kept), logger, observers, secrets })
  await runtime.start({
    task: "x",
    runId: "r",
    webhook: {
      url: hook.url,
      secret: `${sentinel}-inline`,
      headers: { "x-inline": `${sentinel}-header` },
      secretRef: "HOOK",
      headerRefs: { authorization: "TOKEN" },
    },
  })
  await untilTried(runtime, 1)
  await vi.advanceTimersByTimeAsync(10_000)
  await untilTried(runtime, 2)
  said.push(await runtime.webhookDeliveries("r"), await runtime.status("r"))
  await runtime.close()
  expect(hook.got[0]?.headers).toMatchObject({ authorization: `${sentinel}-header-ref` })
  expect(kept.join("\n")).toContain('"webhook":{"url"')
  expect(kept.filter((text) => text.includes('"type":"attempt"'))).toHaveLength(2)
  for (const each of [sentinel, btoa(sentinel), encodeURIComponent(sentinel)]) {
    expect(kept.join("\n")).not.toContain(each)
    expect(JSON.stringify(said)).not.toContain(each)
    for (const { body } of hook.got) expect(body).not.toContain(each)
  }
})

/** Records every written byte. */
function noting(store: Store, kept: string[]): Store {
  const note = (bytes: Uint8Array) => void kept.push(new TextDecoder().decode(bytes))
  return {
    ...store,
    folder(path) {
      const { append: _, ...folder } = store.folder(path)
      return {
        ...folder,
        create: (name, bytes) => {
          note(bytes)
          return folder.create(name, bytes)
        },
        replace: (name, bytes) => {
          note(bytes)
          return folder.replace(name, bytes)
        },
      }
    },
  }
}

test("the executor keeps a run alive until its webhook is delivered", async () => {
  const hook = await receiver()
  const works: Promise<unknown>[] = []
  const runtime = runtimeFor(hook, ["Done."], { executor: { run: (work) => void works.push(work) } })
  await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
  await Promise.all(works)
  expect(hook.got).toHaveLength(1)
})

test("close waits for active deliveries, not for scheduled ones", async () => {
  let answer = () => {}
  const hook = await receiver((index, response) => {
    answer = () => void response.writeHead(index === 0 ? 500 : 200).end()
    return undefined
  })
  const runtime = runtimeFor(hook)
  await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
  await until(() => hook.got.length === 1)
  const closed = runtime.close()
  answer()
  await closed
  expect((await stateOf(runtime))?.attempts).toMatchObject([{ httpCode: 500 }])
})

test("close aborts a slow delivery, which does not count as an attempt and is repeated elsewhere", async () => {
  const hook = await receiver((index) => (index === 0 ? undefined : 200))
  const store = memoryStore()
  const runtime = runtimeFor(hook, ["Done."], { store })
  await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url } })
  await until(() => hook.got.length === 1)
  const closed = runtime.close()
  await aFewTurns()
  await vi.advanceTimersByTimeAsync(5_000)
  await closed
  expect((await stateOf(runtime))?.attempts).toEqual([])
  const second = runtimeFor(hook, [], { store })
  await second.deliverWebhooks()
  await untilTried(second, 1)
  expect(hook.got.map(({ headers }) => headers["webhook-id"])).toEqual(Array(2).fill((await stateOf(second))?.id))
})

test("a run resumed right after its pause sends the pause, then the end, both immediately", async () => {
  vi.useRealTimers()
  const folder = await mkdtemp(join(tmpdir(), "longhaul-webhooks-"))
  for (let round = 0; round < 8; round++) {
    const hook = await receiver()
    const runtime = runtimeFor(hook, [callsPay, "Done."], { ...asksFirst, store: fsStore(join(folder, String(round))) })
    await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url, secretRef: "HOOK" } })
    expect(await runtime.waitFor("r")).toMatchObject({ status: "paused" })
    await runtime.resumeAsync({ runId: "r", decision: "approve" })
    await until(async () => (await runtime.webhookDeliveries("r")).at(-1)?.event === "done")
    await until(async () => (await stateOf(runtime))?.status === "delivered")
    expect(hook.got.map(({ result }) => result.status)).toEqual(["paused", "done"])
    await runtime.close()
  }
  await rm(folder, { recursive: true })
})

test("a failed first attempt does not delay the next event of its run", async () => {
  const hook = await receiver((index) => (index === 0 ? 503 : 204))
  const runtime = runtimeFor(hook, [callsPay, "Done."], asksFirst)
  await runtime.start({ task: "x", runId: "r", webhook: { url: hook.url, secretRef: "HOOK" } })
  await runtime.waitFor("r")
  await runtime.resumeAsync({ runId: "r", decision: "approve" })
  await until(() => hook.got.length === 2)
  expect(hook.got.map(({ result }) => result.status)).toEqual(["paused", "done"])
})
