import { expect, test } from "vitest"
import type {
  ApprovalDecision,
  AskVia,
  Policy,
  PolicyRule,
  PolicyService,
  ServiceVerdict,
} from "../src/contract/policy.ts"
import type { RunResult } from "../src/contract/result.ts"
import type { Risk } from "../src/contract/tool.ts"
import { createRuntime } from "../src/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"

const modes = ["auto", "ask", "deny"] as const
const tiers = ["low", "medium", "high"] as const
const asks = ["unset", "wait", "pause"] as const
const callbacks = ["none", "approves", "denies", "always", "throws", "never answers", "answers nonsense"] as const
const rules = [
  "none",
  "allow",
  "ask",
  "ask via wait",
  "ask via pause",
  "deny",
  "allow and ask",
  "allow and deny",
] as const
const services = ["none", "allows", "denies", "asks", "fails", "rewrites"] as const
const lists = ["empty", "pre-approved"] as const

interface Row {
  readonly mode: (typeof modes)[number]
  readonly tier: Risk
  readonly ask: (typeof asks)[number]
  readonly callback: (typeof callbacks)[number]
  readonly rule: (typeof rules)[number]
  readonly service: (typeof services)[number]
  readonly list: (typeof lists)[number]
}

type Expected = "runs" | "denied" | "paused"

/** The decision as the guide describes it, written down without any code or table of the policy. */
function expected({ mode, tier, ask, callback, rule, service, list }: Row): Expected {
  const isDenied = rule.endsWith("deny") || service === "denies" || service === "fails"
  if (isDenied) return "denied"
  const ruleAsks = rule.includes("ask")
  const serviceAsks = service === "asks"
  const hasCallback = callback !== "none"
  const tierAsks =
    rule === "none" && mode !== "auto" && list === "empty" && (tier === "high" || (tier === "medium" && hasCallback))
  if (!ruleAsks && !serviceAsks && !tierAsks) return "runs"
  if (mode === "deny") return "denied"
  const ownWay = rule === "ask via wait" ? "wait" : rule === "ask via pause" ? "pause" : undefined
  const usualWay = ask === "unset" ? (hasCallback ? "wait" : "nobody") : ask
  const way = ruleAsks ? (ownWay ?? usualWay) : usualWay
  if (way === "pause") return "paused"
  return callback === "approves" || callback === "always" ? "runs" : "denied"
}

const rulesOf: Readonly<Record<Row["rule"], readonly PolicyRule[]>> = {
  none: [{ deny: { tool: "other*" } }],
  allow: [{ allow: { tool: "act" } }],
  ask: [{ ask: { tool: "act" } }],
  "ask via wait": [{ ask: { tool: "act" }, via: "wait" }],
  "ask via pause": [{ ask: { tool: "a*" }, via: "pause" }],
  deny: [{ deny: { tool: "*" } }],
  "allow and ask": [{ allow: { tool: "act" } }, { ask: { tool: "act", args: { "/who": "x" } } }],
  "allow and deny": [{ deny: { tool: "act", args: { "/who": "x" } } }, { allow: { tool: "act" } }],
}

const callbackOf: Readonly<Record<Row["callback"], Policy["onAsk"] | undefined>> = {
  none: undefined,
  approves: () => ({ decision: "approve" }),
  denies: () => ({ decision: "deny" }),
  always: async () => ({ decision: "always" }),
  throws: () => {
    throw new Error("broken")
  },
  "never answers": () => new Promise<ApprovalDecision>(() => {}),
  // Safe: the runtime must not rely on the type.
  "answers nonsense": () => "approve" as unknown as ApprovalDecision,
}

const verdictOf: Readonly<Record<Exclude<Row["service"], "none">, () => Promise<ServiceVerdict>>> = {
  allows: async () => ({ decision: "allow" }),
  denies: async () => ({ decision: "deny", reason: "no" }),
  asks: async () => ({ decision: "ask", reason: "sure?" }),
  fails: () => Promise.reject(new Error("down")),
  rewrites: async () => ({ decision: "allow", args: { n: 2, who: "x" } }),
}

function serviceOf(kind: Exclude<Row["service"], "none">): PolicyService {
  return { decide: verdictOf[kind], scan: async () => ({ decision: "allow" }) }
}

async function decisionOn(row: Row): Promise<{ readonly outcome: Expected; readonly ran: readonly unknown[] }> {
  const ran: unknown[] = []
  const act = defineTool({
    name: "act",
    description: "acts",
    inputSchema: { type: "object" },
    risk: row.tier,
    run: (args: unknown) => {
      ran.push(args)
      return "acted"
    },
  })
  const onAsk = callbackOf[row.callback]
  const policy: Policy = {
    mode: row.mode,
    rules: rulesOf[row.rule],
    askTimeoutMs: 1,
    ...(row.ask !== "unset" && { ask: row.ask satisfies AskVia }),
    ...(onAsk && { onAsk }),
    ...(row.list === "pre-approved" && { preApproved: ["act"] }),
    ...(row.service !== "none" && { services: [serviceOf(row.service)] }),
  }
  const runtime = createRuntime({
    store: memoryStore(),
    model: scriptedModel([{ parts: [{ toolCall: { name: "act", args: { n: 1, who: "x" } } }] }, "end"]),
    tools: [act],
    policy,
  })
  return { outcome: outcomeOf(await runtime.run({ task: "go" })), ran }
}

function outcomeOf({ status, toolCalls }: RunResult): Expected {
  if (status === "paused") return "paused"
  expect(status).toBe("done")
  return toolCalls[0]?.status === "denied" ? "denied" : "runs"
}

function* rows(): Generator<Row> {
  for (const mode of modes)
    for (const tier of tiers)
      for (const ask of asks)
        for (const callback of callbacks)
          for (const rule of rules)
            for (const service of services)
              for (const list of lists) yield { mode, tier, ask, callback, rule, service, list }
}

test("a decision is the one of the guide for every mode, tier, way to ask, callback, rule, service and allow-list", async () => {
  const all = [...rows()]
  // Coprime to every dimension: each value of each one is met with all others.
  const stride = process.env.LONGHAUL_ALL_DECISIONS ? 1 : 23
  const wrong: object[] = []
  const counts = { runs: 0, denied: 0, paused: 0 }
  for (let index = 0; index < all.length; index += stride) {
    // Safe: the index is within the list.
    const row = all[index] as Row
    const wanted = expected(row)
    const { outcome, ran } = await decisionOn(row)
    counts[outcome]++
    const received = row.service === "rewrites" ? [{ n: 2, who: "x" }] : [{ n: 1, who: "x" }]
    const isExact = JSON.stringify(ran) === JSON.stringify(outcome === "runs" ? received : [])
    if (outcome !== wanted || !isExact) wrong.push({ ...row, wanted, outcome, ran })
  }
  console.log(`policy decisions: ${JSON.stringify(counts)} of ${all.length}`)
  expect(wrong.slice(0, 5)).toEqual([])
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(20)
}, 600_000)
