import { describe, expect, test } from "vitest"
import { LONG_LIMIT_MS, withTimeLimit } from "../../../test/support/time-limit.ts"
import { until } from "../../../test/support/watchdog.ts"
import type { Json } from "../../contract/json.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import type { Store } from "../../contract/store.ts"
import type { Effect, Tool } from "../../contract/tool.ts"
import { searchedTools } from "../../extensions/mcp/many-tools.ts"
import { createRuntime } from "../../index.ts"
import { isJsonObject } from "../../lib/json.ts"
import { memoryStore } from "../../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../testing/index.ts"

/** Every call that reached the tool. */
let ran: unknown[] = []

function hidden(more: Partial<Tool> = {}): Tool {
  return {
    name: "pay",
    policyName: "mcp:bank/pay",
    description: "pays",
    inputSchema: {
      type: "object",
      properties: { amount: { type: "integer" }, currency: { type: "string", default: "EUR" } },
      required: ["amount"],
      additionalProperties: false,
    },
    effect: "once",
    concurrent: false,
    risk: "medium",
    run: (args) => void ran.push(args),
    ...more,
  }
}

const through = (args: Json, name = "pay"): ScriptedStep => ({
  parts: [{ toolCall: { name: "CallTool", args: { name, args } } }],
})

async function scene(tool: Tool, steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  ran = []
  const store = memoryStore()
  const model = scriptedModel([...steps, "done"])
  const runtime = createRuntime({ model, store, tools: searchedTools([tool]), ...config })
  const result = await runtime.run({ task: "x", runId: "r" })
  const intents = []
  for await (const record of runtime.events("r")) if (record.type === "tool-intent") intents.push(record.effect)
  return { result, intents }
}

describe("the arguments of a call through CallTool", () => {
  test.each([
    ["a wrong type", { amount: "all of it" }, "amount: must be integer"],
    ["a missing property", {}, "amount"],
    ["an unknown property", { amount: 1, to: "me" }, "to"],
    ["no object", "amount=1", "args"],
  ])(
    "the inner arguments are checked before the policy, a person and the hooks see them: %s",
    async (_, args, named) => {
      const seen: string[] = []
      const see = <Value>(what: string, value: Value): Value => {
        seen.push(what)
        return value
      }
      const { result, intents } = await scene(hidden(), [through(args)], {
        policy: { rules: [{ ask: { tool: "*" } }], onAsk: () => see("ask", { decision: "approve" }) },
        hooks: {
          gateBeforeTool: () => see("gate", { allow: true }),
          preToolCall: () => void seen.push("hook"),
        },
      })
      expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
      expect(JSON.stringify(result.toolCalls)).toContain("invalid_input")
      expect(JSON.stringify(result.toolCalls)).toContain(named)
      expect([ran, seen, intents]).toEqual([[], [], []])
    },
  )

  test("the inner arguments are checked again after a rule has changed them", async () => {
    const rules = [{ allow: { tool: "mcp:bank/pay" }, set: { "/amount": "all" } }]
    const { result } = await scene(hidden(), [through({ amount: 1 })], { policy: { rules } })
    expect([result.toolCalls[0]?.status, ran]).toEqual(["error", []])
  })

  test("the inner arguments reach the tool with the defaults of its schema, as those of a listed tool do", async () => {
    await scene(hidden(), [through({ amount: 1 })])
    expect(ran).toEqual([{ amount: 1, currency: "EUR" }])
  })

  test("arguments that a person changes are those of the inner call, and cannot name another tool", async () => {
    const args = { type: "object", properties: { name: { type: "string" }, args: { type: "object" } } } as const
    const other = hidden({ name: "other", inputSchema: args })
    const asked: unknown[] = []
    const config: RuntimeConfig = {
      tools: searchedTools([hidden(), other]),
      policy: {
        rules: [{ ask: { tool: "mcp:*/*" } }],
        onAsk(request) {
          asked.push(request.args)
          return { decision: "approve", args: { name: "pay", args: { amount: 9 } } }
        },
      },
    }
    const { result } = await scene(other, [through({ name: "x" }, "other")], config)
    expect([result.toolCalls[0]?.status, asked]).toEqual(["ok", [{ name: "x" }]])
    expect(ran).toEqual([{ name: "pay", args: { amount: 9 } }])
  })

  test("the inner arguments are rejected by a tool whose schema cannot be used, and the run goes on", async () => {
    const broken = hidden({ inputSchema: { type: "object", properties: { amount: { $ref: "#/nowhere" } } } })
    const { result } = await scene(broken, [through({ amount: 1 })])
    expect([result.status, result.toolCalls[0]?.status, ran]).toEqual(["done", "error", []])
    const onAsk = () => ({ decision: "approve", args: { amount: 2 } }) as const
    const asked = await scene(broken, [through({ amount: 1 })], {
      policy: { rules: [{ ask: { tool: "mcp:*/*" } }], onAsk },
    })
    expect([asked.result.status, asked.result.toolCalls[0]?.status, ran]).toEqual(["done", "denied", []])
  })
})

describe("the effect of a call through CallTool", () => {
  test.each<[string, Partial<Tool>, readonly Effect[]]>([
    ["none", { effect: "none" }, []],
    ["repeatable", { effect: "repeatable" }, ["repeatable"]],
    ["once", { effect: "once" }, ["once"]],
    ["that of the very call", { effectOf: (args) => (isJsonObject(args) && args.amount === 1 ? "none" : "once") }, []],
    [
      "the strictest one of a tool that cannot tell",
      {
        effectOf: () => {
          throw new Error("x")
        },
      },
      ["once"],
    ],
  ])("the effect of the outer call is the effect of the inner call: %s", async (_, more, expected) => {
    const { result, intents } = await scene(hidden(more), [through({ amount: 1 })])
    expect([result.toolCalls[0]?.status, intents, ran.length]).toEqual(["ok", expected, 1])
  })

  test("the effect of the inner call cannot be hidden by an outer tool that declares none", async () => {
    const [, outer] = searchedTools([hidden()])
    if (!outer) throw new Error("CallTool is missing")
    const sly: Tool = { ...outer, effect: "none", concurrent: true }
    const { intents } = await scene(hidden(), [through({ amount: 1 })], { tools: [sly] })
    expect(intents).toEqual(["once"])
  })
})

describe("a call through CallTool has the properties of the inner tool", () => {
  test("a call has the limit of output of the inner tool, also if the result is long, and its own bounds", async () => {
    const long = "x".repeat(5000)
    const short = await scene(hidden({ effect: "none", maxOutputBytes: 1000, run: () => long }), [
      through({ amount: 1 }),
    ])
    expect(String(short.result.toolCalls[0]?.result).length).toBeLessThan(1500)
    const longer = `${"x".repeat(300_000)} the end`
    const bounded = await scene(hidden({ effect: "none", bounded: true, run: () => longer }), [through({ amount: 1 })])
    expect(String(bounded.result.toolCalls[0]?.result)).toContain("the end")
  })

  test("a call has the question of the inner tool: a person answers it, and nothing runs", async () => {
    const asks = hidden({ question: (args) => `Pay ${isJsonObject(args) ? args.amount : "?"}?` })
    const { result, intents } = await scene(asks, [through({ amount: 3 })])
    expect(result).toMatchObject({ status: "paused", pause: { reason: "input" }, data: { question: "Pay 3?" } })
    expect([ran, intents]).toEqual([[], []])
    const onAsk = () => ({ decision: "answer", text: "paid by hand" }) as const
    const policy = { onAsk, rules: [{ allow: { tool: "*" } }] }
    const live = await scene(asks, [through({ amount: 3 })], { policy })
    expect(live.result.toolCalls[0]).toMatchObject({ status: "ok", result: "paid by hand" })
    expect(ran).toEqual([])
  })

  test("a call runs alone or not, as the inner tool says", async () => {
    for (const [concurrent, most] of [
      [false, 1],
      [true, 2],
    ] as const) {
      let open = 0
      let seen = 0
      const run = async () => {
        seen = Math.max(seen, ++open)
        await until(() => seen >= most)
        // Time in which one too many could start.
        await new Promise((resolve) => setTimeout(resolve, 10))
        open--
      }
      const call = { toolCall: { name: "CallTool", args: { name: "pay", args: { amount: 1 } } } }
      await scene(hidden({ effect: "none", concurrent, run }), [{ parts: [call, call] }])
      expect(seen).toBe(most)
    }
  })
})

/** A run that hangs within a call, as an unresponsive process leaves it. */
async function leftWithin(store: Store, tool: Tool): Promise<void> {
  ran = []
  let started = () => {}
  const isStarted = new Promise<void>((resolve) => {
    started = resolve
  })
  const hanging: Tool = {
    ...tool,
    run: () => {
      started()
      return new Promise(() => {})
    },
  }
  const model = scriptedModel([through({ amount: 1 })])
  void createRuntime({ model, store, tools: searchedTools([hanging]) }).run({ task: "x", runId: "r" })
  await isStarted
}

describe("a call through CallTool whose process stopped", () => {
  const resume = (store: Store, tool: Tool, config: RuntimeConfig = {}) =>
    createRuntime({ model: scriptedModel(["done"]), store, tools: searchedTools([tool]), ...config }).resume({
      runId: "r",
      takeover: true,
    })

  test.each<Effect>(["repeatable", "once"])(
    "a stopped call with the effect %s is not repeated by a takeover",
    async (effect) => {
      const store = memoryStore()
      await leftWithin(store, hidden({ effect }))
      const result = await resume(store, hidden({ effect }))
      expect([result.toolCalls[0]?.status, ran]).toEqual(["unknown", []])
    },
  )

  test("a stopped call is taken up by the inner tool if it can, and not repeated", async () => {
    const store = memoryStore()
    const taken: unknown[] = []
    const resumed = hidden({ resume: (args) => taken.push(args) && "taken up" })
    await leftWithin(store, resumed)
    const result = await resume(store, resumed)
    expect(result.toolCalls[0]).toMatchObject({ status: "ok", result: "taken up" })
    expect([ran, taken]).toEqual([[], [{ amount: 1, currency: "EUR" }]])
  })

  test("a stopped call pauses the run if the inner tool wants a person to decide", async () => {
    const store = memoryStore()
    await leftWithin(store, hidden())
    const result = await resume(store, hidden({ unknownOutcome: "pause" }))
    expect([result.status, ran]).toEqual(["paused", []])
    expect(result.pause).toMatchObject({ reason: "unknown_outcome" })
  })

  test("a stopped call does not pause the run for a person if the inner tool does not want it", async () => {
    const store = memoryStore()
    await leftWithin(store, hidden())
    const result = await resume(store, hidden({ unknownOutcome: "tell" }), { unknownOutcome: "pause" })
    expect([result.status, result.toolCalls[0]?.status, ran]).toEqual(["done", "unknown", []])
  })
})

describe("a check of a tool's author that never settles ends with the run's timeMs", () => {
  const limits = { timeMs: LONG_LIMIT_MS }

  test("a check that never settles before the call is decided ends with the run's timeMs", async () => {
    const { result } = await withTimeLimit((pass) => {
      const validate = () => {
        pass()
        return new Promise<never>(() => {})
      }
      return scene(hidden({ validate }), [through({ amount: 1 })], {
        policy: { rules: [{ ask: { tool: "*" } }] },
        limits,
      })
    })
    expect(result).toMatchObject({ status: "failed", error: { code: "run_timeout" } })
    expect(ran).toEqual([])
  })

  test("a check that never settles after a person has changed the arguments ends with the run's timeMs", async () => {
    const { result } = await withTimeLimit((pass) => {
      const validate: Tool["validate"] = async (args) => {
        if (!isJsonObject(args) || args.amount !== 2) return { ok: true, args }
        pass()
        return new Promise<never>(() => {})
      }
      const onAsk = () => ({ decision: "approve", args: { amount: 2 } }) as const
      const policy = { rules: [{ ask: { tool: "*" } }], onAsk }
      return scene(hidden({ validate }), [through({ amount: 1 })], { policy, limits })
    })
    expect(result).toMatchObject({ status: "failed", error: { code: "run_timeout" } })
    expect(ran).toEqual([])
  })
})
