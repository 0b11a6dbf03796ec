import type { IncomingMessage } from "node:http"
import { afterAll, describe, expect, test } from "vitest"
import type { RunEvent, RunRecord } from "../src/contract/event.ts"
import { createRuntime } from "../src/index.ts"
import { serviceOf } from "../src/policy/service/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { type Answer, client, isBefore, json, outputOnly, server, silent, wrong } from "./support/policy-faults.ts"

const counts = { faults: 0, executions: 0, outputs: 0, opened: 0 }
afterAll(() =>
  console.log(
    `policy service in the runtime: ${counts.faults} faults, ${counts.executions} executions after a fault before the ` +
      `tool, ${counts.outputs} outputs passed on after one behind it, ${counts.opened} opened in open mode`,
  ),
)

const OUTPUT = "the output of the tool"
const allows: Answer = (_, response) => json(response, { decision: "allow" })

interface Behaviour {
  readonly before?: Answer
  readonly after?: Answer
  readonly mode?: "open" | "closed"
  /** The tool throws its output. */
  readonly fails?: boolean
}

/** Runs a tool under a service that behaves as told. `all`: everything that anyone received. */
async function underService({ before = allows, after = allows, mode = "closed", fails = false }: Behaviour) {
  const answer = (request: IncomingMessage) => (isBefore(request) ? before : after)
  const { url } = await server((request, ...rest) => answer(request)(request, ...rest))
  // A time limit counts as silence: it must not end an answer that is only slow to read.
  const timeoutMs = [before, after].some((each) => slow.has(each)) ? 500 : 20_000
  const service = serviceOf(client(url, { enforcementFailureMode: mode, timeoutMs }))
  let executions = 0
  const act = defineTool({
    name: "act",
    description: "acts",
    inputSchema: { type: "object" },
    risk: "low",
    run: () => {
      executions++
      if (fails) throw Object.assign(new Error(OUTPUT), { name: "ToolError", code: "io" })
      return OUTPUT
    },
  })
  const model = scriptedModel([{ parts: [{ toolCall: { name: "act", args: { n: 1 } } }] }, "end"])
  const runtime = createRuntime({ store: memoryStore(), model, tools: [act], policy: { services: [service] } })
  const events: RunEvent[] = []
  const result = await runtime.run({ task: "go", onEvent: (event) => events.push(event) })
  const records: RunRecord[] = []
  for await (const record of runtime.events(result.runId)) records.push(record)
  expect([result.status, model.calls.length]).toEqual(["done", 2])
  const decisions = records.flatMap((record) => (record.type === "policy-decision" ? [record] : []))
  const all = JSON.stringify([model.calls, events, result, records])
  return { executions, decisions, isPassedOn: all.includes(OUTPUT), status: result.toolCalls[0]?.status }
}

const slow = new Set(silent.filter(([name]) => /no answer|drips/.test(name)).map(([, answer]) => answer))
const openedReason = { stage: "service", verdict: "allow", text: expect.stringContaining("open mode") }

// Concurrent: some tests wait for a time limit.
describe.concurrent("a policy service of a run that fails", () => {
  test.each([...silent, ...wrong])(
    "a service that fails with %s before the tool lets nothing run",
    { tags: ["APR-20"] },
    async (_name, before) => {
      const { executions, decisions, status } = await underService({ before })
      counts.faults++
      counts.executions += executions
      expect([executions, status, decisions.at(-1)?.verdict]).toEqual([0, "denied", "deny"])
    },
  )

  const afterwards = [...silent, ...wrong].filter(([name]) => !outputOnly.has(name))
  test.each(afterwards.flatMap(([name, after]) => [[name, after, false] as const, [name, after, true] as const]))(
    "a service that fails with %s after the tool passes on nothing of its output",
    async (_name, after, fails) => {
      const { executions, decisions, isPassedOn, status } = await underService({ after, fails })
      counts.faults++
      if (isPassedOn) counts.outputs++
      expect([executions, isPassedOn, status, decisions.at(-1)?.verdict]).toEqual([1, false, "error", "block"])
    },
  )

  test.each(silent)(
    "a service that fails with %s in open mode lets the call run, and the decisions say why",
    async (_name, fault) => {
      const { executions, decisions, isPassedOn } = await underService({ before: fault, after: fault, mode: "open" })
      counts.opened++
      expect([executions, isPassedOn]).toEqual([1, true])
      expect(decisions).toEqual([
        expect.objectContaining({ verdict: "allow", reasons: [openedReason] }),
        expect.objectContaining({ verdict: "allow", reasons: [openedReason] }),
      ])
    },
  )

  test.each(wrong)(
    "a service that fails with %s before the tool in open mode lets nothing run",
    async (_name, before) => {
      const { executions, status } = await underService({ before, mode: "open" })
      counts.faults++
      counts.executions += executions
      expect([executions, status]).toEqual([0, "denied"])
    },
  )

  test.each(wrong.filter(([name]) => !outputOnly.has(name)))(
    "a service that fails with %s after the tool in open mode passes on nothing of its output",
    async (_name, after) => {
      const { isPassedOn, status } = await underService({ after, mode: "open" })
      counts.faults++
      if (isPassedOn) counts.outputs++
      expect([isPassedOn, status]).toEqual([false, "error"])
    },
  )
})

test("without a fault the call runs, its output is passed on, and nothing is recorded", async () => {
  const { executions, decisions, isPassedOn } = await underService({})
  expect([executions, isPassedOn, decisions]).toEqual([1, true, []])
})
