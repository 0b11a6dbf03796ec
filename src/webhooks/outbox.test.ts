import { describe, expect, test } from "vitest"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import type { RecordedWebhook, WebhookAttempt } from "../contract/webhook.ts"
import { sha256 } from "../lib/sha256.ts"
import { memoryStore } from "../stores/memory.ts"
import { addToOutbox, type OutboxEntry, readOutbox, standingOf, subscribedEvents, webhookId } from "./outbox.ts"
import { delayAfter, meaningOf } from "./schedule.ts"

const webhook: RecordedWebhook = { url: "https://example.com/", events: ["paused", "done", "failed"] }
const numbered = (...bodies: RecordBody[]) => bodies.map((body, seq): RunRecord => ({ seq, at: 1000 + seq, ...body }))
const start = (asked?: RecordedWebhook): RecordBody => ({
  type: "run-start",
  runId: "r",
  nodeId: "main",
  input: { messages: [], backend: "native", cwd: "." },
  tools: [],
  limits: { turns: 1 },
  ...(asked && { webhook: asked }),
})
const resume = (asked?: RecordedWebhook): RecordBody => ({
  type: "run-resume",
  cause: "decision",
  ...(asked && { webhook: asked }),
})
const pause: RecordBody = { type: "run-pause", reason: "approval" }
const end = (status: "done" | "failed" | "cancelled"): RecordBody => ({ type: "run-end", status })
const toldOf = (...bodies: RecordBody[]) => subscribedEvents(numbered(...bodies)).map(({ seq, event }) => [seq, event])

describe("pending webhook events", () => {
  test("each pause and the end are events", { tags: ["WH-15"] }, () => {
    expect(toldOf(start(webhook), pause, resume(webhook), pause, resume(webhook), end("done"))).toEqual([
      [1, "paused"],
      [3, "paused"],
      [5, "done"],
    ])
  })

  test("a pause as released has no event, since another process resumes the run", () => {
    const released: RecordBody = { type: "run-pause", reason: "released" }
    expect(toldOf(start(webhook), released, resume(webhook), end("done"))).toEqual([[3, "done"]])
  })

  test("an unsubscribed part of a run has no events", () => {
    expect(toldOf(start(), pause, resume(webhook), end("failed"), resume(), end("done"))).toEqual([[3, "failed"]])
  })

  test("turns, calls and starts have no events", { tags: ["WH-14"] }, () => {
    const turn: RecordBody[] = [
      { type: "turn-start", turn: 1 },
      { type: "turn-end", turn: 1 },
    ]
    expect(toldOf(start(webhook), ...turn, resume(webhook))).toEqual([])
  })

  test("only subscribed events are sent; a cancelled run is sent to subscribers of failed", () => {
    expect(toldOf(start({ ...webhook, events: ["done"] }), pause, resume(webhook), end("cancelled"))).toEqual([
      [3, "cancelled"],
    ])
    expect(toldOf(start({ ...webhook, events: ["done", "paused"] }), end("cancelled"))).toEqual([])
    expect(toldOf(start({ ...webhook, events: ["cancelled"] }), end("failed"))).toEqual([])
  })
})

test("an event id is unique across events, nodes, runs, workspaces and stores", () => {
  const [first, second] = subscribedEvents(numbered(start(webhook), pause, resume(webhook), end("done")))
  if (!first || !second) throw new Error("nothing is owed")
  const key = { workspaceId: "acme", runId: "r", nodeId: "main" }
  const ids = [
    webhookId(sha256, key, first),
    webhookId(sha256, key, second),
    webhookId(sha256, { ...key, nodeId: "other" }, first),
    webhookId(sha256, { ...key, runId: "r2" }, first),
    webhookId(sha256, { ...key, workspaceId: "acme2" }, first),
    webhookId(sha256, { ...key, tenant: "0" }, first),
    webhookId(sha256, { ...key, tenant: "1" }, first),
    webhookId(sha256, key, { ...first, at: 5 }),
  ]
  expect(new Set(ids).size).toBe(ids.length)
  expect(webhookId(sha256, { ...key }, { ...first })).toBe(ids[0])
  for (const id of ids) expect(id).toMatch(/^msg_[0-9a-f]{32}$/)
})

const tried = (attempt: number, more: Partial<WebhookAttempt> = {}, round = 0): OutboxEntry => ({
  type: "attempt",
  round,
  delivery: "d",
  attempt,
  status: "retry",
  startedAt: 0,
  endedAt: attempt * 100,
  ...more,
})
const again: OutboxEntry = { type: "again", at: 7000, nonce: "n" }

describe("delivery state of an event", () => {
  const [owed] = subscribedEvents(numbered(start(webhook), end("done")))
  if (!owed) throw new Error("nothing is owed")
  const standing = (...entries: OutboxEntry[]) => standingOf(owed, entries)

  test("an event has five attempts: immediately, then 10 s, 60 s, 5 min and 30 min after the previous one", {
    tags: ["WH-09"],
  }, () => {
    expect(standing()).toMatchObject({ status: "pending", attempt: 1, delayMs: 0, since: 1001 })
    expect(standing(tried(1))).toMatchObject({ status: "pending", attempt: 2, delayMs: 10_000, since: 100 })
    expect(standing(tried(1), tried(2))).toMatchObject({ attempt: 3, delayMs: 60_000, since: 200 })
    expect(standing(tried(1), tried(2), tried(3))).toMatchObject({ attempt: 4, delayMs: 300_000 })
    expect(standing(...[1, 2, 3, 4].map((n) => tried(n)))).toMatchObject({ attempt: 5, delayMs: 1_800_000 })
    expect(standing(...[1, 2, 3, 4, 5].map((n) => tried(n)))).toMatchObject({ status: "failed" })
  })

  test("an attempt made by two processes counts once, and a delivered one wins", () => {
    expect(standing(tried(1), tried(1))).toMatchObject({ status: "pending", attempt: 2 })
    expect(standing(tried(1), tried(2), tried(1))).toMatchObject({ attempt: 3 })
    expect(standing(tried(1, { status: "stopped" }), tried(1, { status: "delivered" }))).toMatchObject({
      status: "delivered",
    })
  })

  test("an attempt that was made before a manual retry and ends after it changes nothing", () => {
    const late = tried(1, { status: "delivered" })
    expect(standing(tried(1, { status: "stopped" }), again, late)).toMatchObject({ status: "pending", attempt: 1 })
    expect(standing(again, tried(3))).toMatchObject({ status: "pending", attempt: 1 })
  })

  test("a manual retry restarts the attempts, whatever their state", { tags: ["WH-13"] }, () => {
    expect(standing(tried(1, { status: "stopped" }))).toMatchObject({ status: "failed" })
    expect(standing(tried(1, { status: "stopped" }), again)).toMatchObject({
      status: "pending",
      attempt: 1,
      delayMs: 0,
      since: 7000,
    })
    expect(standing(tried(1), again, tried(2), tried(2, { status: "delivered" }))).toMatchObject({
      status: "pending",
      attempt: 1,
    })
    expect(standing(again, tried(1, {}, 1))).toMatchObject({ attempt: 2, delayMs: 10_000 })
  })

  test("a receiver's Retry-After extends the delay, up to that of the next attempt", () => {
    const waits = (attempt: number, retryAfterMs: number) => {
      const made = tried(attempt, { retryAfterMs })
      return made.type === "attempt" ? delayAfter(made) : null
    }
    expect(waits(1, 3_000)).toBe(10_000)
    expect(waits(1, 25_000)).toBe(25_000)
    expect(waits(1, 3_600_000)).toBe(60_000)
    expect(waits(4, 3_600_000)).toBe(1_800_000)
    expect(waits(5, 0)).toBeNull()
  })
})

test("2xx is delivered; 408, 429 and 5xx are retried; everything else is final", { tags: ["WH-10"] }, () => {
  for (const code of [200, 201, 204, 299]) expect(meaningOf(code)).toBe("delivered")
  for (const code of [408, 429, 500, 502, 503, 504, 599]) expect(meaningOf(code)).toBe("retry")
  for (const code of [301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 422, 451])
    expect(meaningOf(code)).toBe("stopped")
})

describe("the outbox", () => {
  test("the outbox keeps entries of several processes, each once", async () => {
    const folder = memoryStore().folder("run")
    await Promise.all([tried(1), again, tried(2)].map((entry) => addToOutbox(folder, 7, entry, 0)))
    await addToOutbox(folder, 7, tried(1), 0)
    const entries = await readOutbox(folder, 7)
    expect(entries).toHaveLength(3)
    expect(entries).toEqual(expect.arrayContaining([tried(1), again, tried(2)]))
    expect(await readOutbox(folder, 8)).toEqual([])
  })

  test("the outbox reports an invalid entry", async () => {
    const folder = memoryStore().folder("run")
    await folder.create("outbox/000007-000.json", new TextEncoder().encode('{"type":"claim"}'))
    await expect(readOutbox(folder, 7)).rejects.toMatchObject({ code: "storage" })
  })
})
