import { describe, expect, test, vi } from "vitest"
import type { RunRecord } from "../../src/contract/event.ts"
import type { Json } from "../../src/contract/json.ts"
import type { ApprovalDecision, ApprovalRequest, Policy } from "../../src/contract/policy.ts"
import type { RuntimeConfig } from "../../src/contract/run.ts"
import type { Store } from "../../src/contract/store.ts"
import type { Risk } from "../../src/contract/tool.ts"
import { createRuntime } from "../../src/index.ts"
import { createMetricsObserver } from "../../src/observe/metrics.ts"
import { policies } from "../../src/policy/policies.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"

const part = (name: string, args: Json = {}) => ({ toolCall: { name, args } })
const step = (...parts: ReturnType<typeof part>[]) => ({ parts })

/** A tool that records the arguments that it received. */
function tool(ran: Json[], risk: Risk, name = "act") {
  return defineTool({
    name,
    description: "acts",
    inputSchema: { type: "object" },
    risk,
    run: (args: { readonly [key: string]: Json }) => {
      ran.push(args)
      return "acted"
    },
  })
}

interface Setup {
  readonly risk?: Risk
  readonly policy?: Policy
  readonly steps?: readonly ScriptedStep[]
  readonly store?: Store
  readonly config?: RuntimeConfig
}

function setUp({ risk = "high", policy, steps = [step(part("act", { n: 1 })), "end"], store, config }: Setup) {
  const ran: Json[] = []
  const model = scriptedModel(steps)
  const runtime = createRuntime({
    model,
    store: store ?? memoryStore(),
    tools: [tool(ran, risk)],
    ...(policy && { policy }),
    ...config,
  })
  return { ran, model, runtime }
}

/** Returns the decisions in order, and the requests that it received. */
function asker(...decisions: (ApprovalDecision | Error)[]) {
  const requests: ApprovalRequest[] = []
  const onAsk = async (request: ApprovalRequest) => {
    requests.push(request)
    const decision = decisions[requests.length - 1]
    if (decision instanceof Error || decision === undefined) throw decision ?? new Error("asked too often")
    return decision
  }
  return { requests, onAsk }
}

async function records(runtime: ReturnType<typeof createRuntime>, runId: string): Promise<RunRecord[]> {
  const all: RunRecord[] = []
  for await (const record of runtime.events(runId)) all.push(record)
  return all
}

describe("risk tiers", () => {
  test("a tool with an effect has medium risk unless it states another, and tiers of the policy precede it", {
    tags: ["APR-01"],
  }, async () => {
    expect(defineTool({ name: "x", description: "x", inputSchema: { type: "object" }, run: () => "" }).risk).toBe(
      "medium",
    )
    const raised = setUp({ risk: "low", policy: { tiers: { act: "high" } } })
    await raised.runtime.run({ task: "go" })
    const lowered = setUp({ risk: "high", policy: { tiers: { act: "low" } } })
    await lowered.runtime.run({ task: "go" })
    expect([raised.ran.length, lowered.ran.length]).toEqual([0, 1])
  })

  test("a low-risk call runs without a question", { tags: ["APR-02"] }, async () => {
    const { requests, onAsk } = asker()
    const { ran, runtime } = setUp({ risk: "low", policy: { onAsk } })
    expect((await runtime.run({ task: "go" })).status).toBe("done")
    expect([ran, requests]).toEqual([[{ n: 1 }], []])
  })

  test("a medium-risk call asks a callback, and runs where there is none", { tags: ["APR-03"] }, async () => {
    const { requests, onAsk } = asker({ decision: "approve" })
    const asked = setUp({ risk: "medium", policy: { onAsk } })
    await asked.runtime.run({ task: "go" })
    expect([asked.ran.length, requests.length]).toEqual([1, 1])
    const alone = setUp({ risk: "medium" })
    await alone.runtime.run({ task: "go" })
    expect(alone.ran).toEqual([{ n: 1 }])
  })

  test("a high-risk call is denied without an approver, and recorded as denied", {
    tags: ["APR-04", "APR-28"],
  }, async () => {
    const { ran, runtime } = setUp({ risk: "high" })
    const result = await runtime.run({ task: "go" })
    expect(ran).toEqual([])
    expect(result).toMatchObject({ status: "done", toolCalls: [{ name: "act", status: "denied" }] })
    expect(result.toolCalls[0]?.error).toContain("policy.onAsk")
  })

  test("mode auto asks no approver, mode deny refuses what would ask", { tags: ["RUN-19"] }, async () => {
    const auto = setUp({ policy: { mode: "auto" } })
    await auto.runtime.run({ task: "go" })
    expect(auto.ran).toHaveLength(1)
    const { requests, onAsk } = asker({ decision: "approve" })
    const deny = setUp({ policy: { mode: "deny", onAsk } })
    await deny.runtime.run({ task: "go" })
    expect([deny.ran, requests]).toEqual([[], []])
  })

  test("a pre-approved tool runs without a question", { tags: ["APR-09", "RUN-17"] }, async () => {
    const { requests, onAsk } = asker()
    const { ran, runtime } = setUp({ policy: { onAsk, preApproved: ["act"] } })
    await runtime.run({ task: "go" })
    expect([ran.length, requests.length]).toEqual([1, 0])
    const perRun = setUp({})
    await perRun.runtime.run({ task: "go", policy: { preApproved: ["act"] } })
    expect(perRun.ran).toHaveLength(1)
  })
})

type BrokenCallback = [does: string, answer: () => unknown, told: string]

describe("a callback", () => {
  test("a callback receives the complete question about exactly one call", {
    tags: ["APR-05", "HOST-10"],
  }, async () => {
    const { requests, onAsk } = asker({ decision: "approve" })
    const { runtime } = setUp({ policy: { onAsk } })
    const { runId } = await runtime.run({ task: "go" })
    expect(requests[0]).toMatchObject({
      runId,
      nodeId: "main",
      callId: "1.0",
      tool: "act",
      args: { n: 1 },
      tier: "high",
      model: "scripted:scripted",
      question: "act needs approval.",
      always: { tool: "act" },
    })
    expect(requests[0]?.requestId).toMatch(/^\w{8,}/)
    const asked = (await records(runtime, runId)).find(({ type }) => type === "approval-request")
    expect(asked).toMatchObject({ ticket: requests[0]?.requestId, via: "wait" })
  })

  test("a callback has 60 seconds to decide unless the policy sets another limit", { tags: ["HOST-10"] }, async () => {
    expect((await policies({}, {}, [])([])).askTimeoutMs).toBe(60_000)
    expect((await policies({ askTimeoutMs: 5 }, {}, [])([])).askTimeoutMs).toBe(5)
  })

  test("a denial with its reason reaches the model, and the run continues", { tags: ["APR-07"] }, async () => {
    const { onAsk } = asker({ decision: "deny", reason: "not on Fridays" })
    const { ran, model, runtime } = setUp({ policy: { onAsk } })
    expect((await runtime.run({ task: "go" })).status).toBe("done")
    expect(ran).toEqual([])
    expect(JSON.stringify(model.calls[1]?.at(-1))).toContain("act was denied: not on Fridays")
  })

  test("`always` allows later calls of this run, also after a resume, and of no other run", {
    tags: ["APR-07"],
  }, async () => {
    const store = memoryStore()
    const steps = [step(part("act", { n: 1 })), step(part("act", { n: 2 })), "end"]
    const first = asker({ decision: "always" }, { decision: "deny" })
    const { ran, runtime } = setUp({
      store,
      steps: [...steps, step(part("act", { n: 3 })), "end"],
      policy: { onAsk: first.onAsk },
    })
    const { runId } = await runtime.run({ task: "go" })
    expect([ran, first.requests.length]).toEqual([[{ n: 1 }, { n: 2 }], 1])
    const fork = await runtime.fork(runId)
    const elsewhere = setUp({ store, steps: [step(part("act", { n: 4 })), "end"] })
    await elsewhere.runtime.resume({ runId: fork.runId, answer: "once more" })
    expect(elsewhere.ran).toEqual([{ n: 4 }])
    await runtime.run({ task: "another" })
    expect([ran.length, first.requests.length]).toEqual([2, 2])
  })

  test.each<BrokenCallback>([
    ["throws", () => Promise.reject(new Error("secret detail")), "the approval callback failed"],
    [
      "throws at once",
      () => {
        throw new Error("secret detail")
      },
      "the approval callback failed",
    ],
    ["returns nothing", () => undefined, "the approval callback failed"],
    ["returns an unknown decision", () => ({ decision: "APPROVE" }), "the approval callback failed"],
    ["returns true", () => true, "the approval callback failed"],
    [
      "approves with arguments that are not JSON",
      () => ({ decision: "approve", args: () => 1 }),
      "the approval callback failed",
    ],
  ])("a callback that %s denies the call", { tags: ["APR-08"] }, async (_name, answer, why) => {
    const { ran, model, runtime } = setUp({ policy: { onAsk: answer as Policy["onAsk"] & {} } })
    await runtime.run({ task: "go" })
    expect(ran).toEqual([])
    const told = JSON.stringify(model.calls[1]?.at(-1))
    expect(told).toContain(why)
    expect(told).not.toContain("secret detail")
  })

  test("without a decision in time the call is denied, and a late approval changes nothing", {
    tags: ["APR-08"],
  }, async () => {
    let approve = (_decision: ApprovalDecision) => {}
    let signal: AbortSignal | undefined
    const onAsk = (request: ApprovalRequest) => {
      signal = request.signal
      return new Promise<ApprovalDecision>((resolve) => {
        approve = resolve
      })
    }
    const { ran, model, runtime } = setUp({ policy: { onAsk, askTimeoutMs: 5 } })
    await runtime.run({ task: "go" })
    approve({ decision: "approve" })
    await new Promise((resolve) => setImmediate(resolve))
    expect([ran, signal?.aborted]).toEqual([[], true])
    expect(JSON.stringify(model.calls[1]?.at(-1))).toContain("no decision was made in time")
  })

  test("the run waits, the question is durable before it is asked and the decision before the call runs", {
    tags: ["APR-10", "APR-12"],
  }, async () => {
    const store = memoryStore()
    const seen: string[][] = []
    const look = async (runId: string) =>
      seen.push(
        (await records(createRuntime({ store }), runId))
          .map(({ type }) => type)
          .filter((type) => /^approval|^tool-intent/.test(type)),
      )
    const ran: Json[] = []
    const acting = defineTool({
      name: "act",
      description: "acts",
      inputSchema: { type: "object" },
      risk: "high",
      run: async (_args: unknown, { runId }) => {
        await look(runId)
        ran.push(1)
        return "acted"
      },
    })
    const onAsk = async ({ runId }: ApprovalRequest): Promise<ApprovalDecision> => {
      expect(ran).toEqual([])
      await look(runId)
      return { decision: "approve" }
    }
    const runtime = createRuntime({
      store,
      model: scriptedModel([step(part("act")), "end"]),
      tools: [acting],
      policy: { onAsk },
    })
    await runtime.run({ task: "go" })
    expect(ran).toEqual([1])
    expect(seen).toEqual([["approval-request"], ["approval-request", "approval-result", "tool-intent"]])
  })

  test("arguments changed by the person run exactly as given, and the model is informed", async () => {
    const { onAsk } = asker({ decision: "approve", args: { n: 7 } })
    const { ran, model, runtime } = setUp({ policy: { onAsk } })
    await runtime.run({ task: "go" })
    expect(ran).toEqual([{ n: 7 }])
    expect(JSON.stringify(model.calls[1]?.at(-1))).toContain('{\\"n\\":7}')
  })

  test("cancelling the run closes the question", async () => {
    const closed = vi.fn()
    const onAsk = ({ signal }: ApprovalRequest) =>
      new Promise<ApprovalDecision>(() => {
        signal.addEventListener("abort", closed)
        handle.interrupt("immediate")
      })
    const { ran, runtime } = setUp({ policy: { onAsk } })
    const handle = runtime.stream({ task: "go" })
    expect((await handle.result).status).toBe("cancelled")
    expect([ran, closed.mock.calls.length]).toEqual([[], 1])
  })
})

describe("a durable pause", () => {
  test("ask: pause pauses the run, and another process approves it", { tags: ["HOST-10"] }, async () => {
    const store = memoryStore()
    const first = setUp({ store, policy: { ask: "pause" } })
    const paused = await first.runtime.run({ task: "go", runId: "r" })
    expect(paused).toMatchObject({
      status: "paused",
      pause: { reason: "approval", pendingToolCall: { name: "act", args: { n: 1 }, always: { tool: "act" } } },
    })
    const second = setUp({ store, steps: ["end"], policy: { ask: "pause" } })
    expect((await second.runtime.resume({ runId: "r", decision: "approve" })).status).toBe("done")
    expect([first.ran, second.ran]).toEqual([[], [{ n: 1 }]])
  })

  test("`always` at a pause allows the later calls of the run", async () => {
    const store = memoryStore()
    await setUp({ store, policy: { ask: "pause" } }).runtime.run({ task: "go", runId: "r" })
    const second = setUp({ store, steps: [step(part("act", { n: 2 })), "end"], policy: { ask: "pause" } })
    expect((await second.runtime.resume({ runId: "r", decision: "always" })).status).toBe("done")
    expect(second.ran).toEqual([{ n: 1 }, { n: 2 }])
  })

  test("a run's own policy is stored with it and applies when another process resumes the run without it", async () => {
    const store = memoryStore()
    const config = { policy: { ask: "pause" } } satisfies RuntimeConfig
    await setUp({ store, config }).runtime.run({ task: "go", runId: "r", policy: { mode: "ask" } })
    const second = setUp({ store, steps: [step(part("act", { n: 2 })), "end"], config: { policy: { mode: "auto" } } })
    const result = await second.runtime.resume({ runId: "r", decision: "approve" })
    expect(result.toolCalls.map(({ status }) => status)).toEqual(["ok", "denied"])
  })

  test("a process whose policy denies the tool does not run what another one had approved", async () => {
    const store = memoryStore()
    await setUp({ store, policy: { ask: "pause" } }).runtime.run({ task: "go", runId: "r" })
    const second = setUp({ store, steps: ["end"], policy: { rules: [{ deny: { tool: "act" } }] } })
    const result = await second.runtime.resume({ runId: "r", decision: "approve" })
    expect([second.ran, result.toolCalls[0]?.status]).toEqual([[], "denied"])
  })
})

test("the metrics count pending, granted and denied approvals", { tags: ["OBS-02"] }, async () => {
  const metrics = createMetricsObserver()
  const steps = [step(part("act", { n: 1 })), step(part("act", { n: 2 })), "end"]
  const { onAsk } = asker({ decision: "approve" }, { decision: "deny" })
  const config = { observers: [metrics] }
  await setUp({ steps, policy: { onAsk }, config }).runtime.run({ task: "go" })
  await setUp({ policy: { ask: "pause" }, config }).runtime.run({ task: "go" })
  expect(metrics.snapshot().approvals).toEqual({ pending: 1, granted: 1, denied: 1 })
})

test.each([
  [{ mode: "prompt" }, "policy.mode"],
  [{ ask: "later" }, "policy.ask"],
  [{ askTimeoutMs: 0 }, "policy.askTimeoutMs"],
  [{ onAsk: "yes" }, "policy.onAsk"],
  [{ preApprove: ["Bash"] }, "policy"],
])("an invalid policy %j is refused when the runtime is created", (policy, named) => {
  expect(() => createRuntime({ policy: policy as Policy })).toThrow(
    expect.objectContaining({
      code: "config_invalid",
      message: expect.stringContaining(named.split(".")[0] as string),
    }),
  )
})
