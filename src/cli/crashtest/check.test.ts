import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeEach, expect, test } from "vitest"
import type { RecordBody, RunRecord } from "../../contract/event.ts"
import type { ToolStatus } from "../../contract/tool.ts"
import { crc32 } from "../../lib/crc32.ts"
import { noUsage } from "../../lib/usage.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"
import { type CrashVerdict, check } from "./check.ts"
import { acksFile, ledgerFile } from "./child.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-check-"))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** A run with one payment whose process was killed before the receipt, so that it is flagged; then another payment. */
interface Story {
  bodies: RecordBody[]
  /** The calls that had their effect, in order. */
  paid: string[]
  /** The published records, if not all. */
  told?: readonly RunRecord[]
  received: string[]
  kills: number
}

const asked = (turn: number): RecordBody => ({ type: "turn-start", turn })
const call = (turn: number, callId: string): RecordBody => ({ type: "tool-call", turn, callId, name: "pay", args: {} })
const usage = (turn: number, stopReason: "tool-calls" | "end"): RecordBody => {
  return { type: "usage", turn, usage: noUsage, model: "m", stopReason }
}
const intent = (callId: string): RecordBody => {
  return { type: "tool-intent", callId, digest: "d", effect: "once", key: `run/main/${callId}` }
}
const result = (callId: string, status: ToolStatus): RecordBody => {
  return { type: "tool-result", callId, outcome: { status, output: [] }, durationMs: 0 }
}

let story: Story
beforeEach(() => {
  story = {
    bodies: [
      ...[asked(1), call(1, "1.0"), usage(1, "tool-calls"), intent("1.0")],
      { type: "run-resume", cause: "recovery" },
      result("1.0", "unknown"),
      { type: "turn-end", turn: 1 },
      ...[asked(2), call(2, "2.0"), usage(2, "tool-calls"), intent("2.0"), result("2.0", "ok")],
      { type: "turn-end", turn: 2 },
      asked(3),
      { type: "text-end", turn: 3, id: "t", text: "Done." },
      usage(3, "end"),
      { type: "run-end", status: "done" },
    ],
    paid: ["1.0", "2.0"],
    received: ["end", "end"],
    kills: 1,
  }
})

async function judged(): Promise<CrashVerdict> {
  const folder = mkdtempSync(join(scratch, "trial-"))
  const records = story.bodies.map((body, seq): RunRecord => ({ seq, at: 0, ...body }))
  const lines = (values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("")
  const encoder = new TextEncoder()
  const acks = (story.told ?? records).map((record) => {
    return { runId: "run", seq: record.seq, crc: crc32(encoder.encode(JSON.stringify(record))) }
  })
  writeFileSync(acksFile(folder), lines(acks))
  const effects = story.paid.map((callId) => ({ key: `run/main/${callId}`, name: "pay", effect: "once", pid: 7 }))
  writeFileSync(ledgerFile(folder), lines(effects))
  const end = records.findIndex(({ type }) => type === "run-end")
  const delivery = { id: "end", event: "done", seq: end, url: "", status: "delivered", attempts: [] } as const
  return check({
    runtime: {
      async *events() {
        yield* records
      },
      webhookDeliveries: async () => [delivery],
    },
    folder,
    runId: "run",
    workload: {
      tools: [defineTool({ name: "pay", description: "Pays.", inputSchema: { type: "object" }, run: () => "paid" })],
      steps: [[{ name: "pay", args: {} }], [{ name: "pay", args: {} }]],
      gated: [],
    },
    kills: story.kills,
    received: story.received,
  })
}

const at = (type: RecordBody["type"]) => story.bodies.findLastIndex((body) => body.type === type)

test("a run whose only uncertain call is flagged passes the check, whether the call ran or not", async () => {
  expect(await judged()).toEqual({ lost: 0, duplicated: 0, unloadable: false, flagged: 1, violations: [] })
  story.paid = ["2.0"]
  expect((await judged()).violations).toEqual([])
})

test.each<[string, () => void, RegExp, Partial<CrashVerdict>?]>([
  ["an effect that happened twice", () => story.paid.push("2.0"), /pay 2.0 had its effect in/, { duplicated: 1 }],
  [
    "a flagged effect that happened twice",
    () => story.paid.push("1.0"),
    /pay 1.0 had its effect in/,
    { duplicated: 1 },
  ],
  ["a recorded effect that never happened", () => story.paid.pop(), /recorded as ok and had its effect 0 times/],
  [
    "a denied call that had its effect",
    () => void story.bodies.splice(at("tool-result"), 1, result("2.0", "denied")),
    /recorded as denied and had its effect 1 times/,
  ],
  ["an effect on no record", () => story.paid.push("9.9"), /had its effect and is not recorded/],
  ["a call settled twice", () => void story.bodies.splice(at("tool-result"), 0, result("2.0", "ok")), /has 2 results/],
  [
    "a call never settled",
    () => void story.bodies.splice(at("tool-result"), 1),
    /has 0 results[\s\S]*the calls 2.0 and the results/,
  ],
  [
    "a record that is another now",
    () => {
      story.told = [{ seq: 0, at: 5, ...call(1, "1.0") }]
    },
    /the acknowledged record 0 of run has changed/,
    { lost: 1 },
  ],
  [
    "a record that is gone",
    () => {
      story.told = [{ seq: 99, at: 0, ...call(1, "1.0") }]
    },
    /the acknowledged record 99 of run is missing/,
    { lost: 1 },
  ],
  [
    "a flag though nobody was killed",
    () => {
      story.kills = 0
    },
    /although no process was killed/,
  ],
  [
    "a flag where no process died",
    () => void story.bodies.splice(at("tool-result"), 1, result("2.0", "unknown")),
    /2.0 is flagged, although no process died/,
  ],
  ["a run that did not end", () => void story.bodies.pop(), /its status is running/],
  ["another ending", () => void story.bodies.splice(at("text-end"), 1), /it ended with ""/],
  ["a step that was lost", () => void story.bodies.splice(7, 6), /its calls were pay, not pay pay/],
  [
    "an end that was not delivered",
    () => {
      story.received = []
    },
    /never got the run-end/,
  ],
  ["a webhook about nothing", () => story.received.push("strange"), /got strange, which is not recorded/],
])("the check detects %s", async (_, spoil, violation, counts = {}) => {
  spoil()
  const verdict = await judged()
  expect(verdict.violations.join("\n")).toMatch(violation)
  expect(verdict).toMatchObject(counts)
})
