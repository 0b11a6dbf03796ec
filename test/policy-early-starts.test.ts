import { expect, test } from "vitest"
import type { Policy } from "../src/contract/policy.ts"
import type { Model } from "../src/contract/provider.ts"
import type { Store } from "../src/contract/store.ts"
import type { Effect } from "../src/contract/tool.ts"
import { createRuntime } from "../src/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { until } from "./support/watchdog.ts"

/** Calls the tools in one answer, which is complete only when `awaited` has started. */
function callingModel(names: readonly string[], order: string[], awaited?: string): Model {
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
  return {
    provider: "p",
    id: "m",
    converse: () => ({
      async call(messages, sink) {
        if (messages.length > 1) {
          return { parts: [{ type: "text", text: "done" }], stopReason: "end", usage, model: "m" }
        }
        const parts = names.map((name) => ({ type: "tool-call", wireId: name, name, args: {} }) as const)
        for (const [index, part] of parts.entries()) sink.call?.(part, index)
        // Whatever starts early has been called by now, each in the same way.
        if (awaited !== undefined) await until(() => order.includes(awaited))
        order.push("answer")
        return { parts, stopReason: "tool-calls", usage, model: "m" }
      },
    }),
  }
}

const toolNamed = (order: string[], name: string, effect: Effect = "none") =>
  defineTool({
    name,
    description: name,
    inputSchema: { type: "object" },
    effect,
    risk: "low",
    run: () => {
      order.push(name)
      return `output of ${name}`
    },
  })

/** The order in which the tools and the end of the answer came. */
async function orderUnder(policy: Policy, names: readonly string[], awaited?: string): Promise<readonly string[]> {
  const order: string[] = []
  const tools = names.map((name) => toolNamed(order, name))
  const runtime = createRuntime({ store: memoryStore(), model: callingModel(names, order, awaited), tools, policy })
  expect((await runtime.run({ task: "go" })).status).toBe("done")
  return order
}

const allowing: readonly (readonly [string, Policy])[] = [
  ["no rule", {}],
  ["an allow rule", { rules: [{ allow: { tool: "b" } }] }],
  ["default allow and an allow rule", { default: "allow", rules: [{ allow: { tool: "b" } }] }],
  ["a deny rule for another tool", { rules: [{ deny: { tool: "other*" } }] }],
  ["an output rule for another tool", { output: [{ block: { tool: "other*", pattern: "x" } }] }],
  ["a pre-approval", { preApproved: ["b"] }],
  ["a callback for tiers", { onAsk: () => ({ decision: "deny" }) }],
  ["mode deny", { mode: "deny" }],
]

test.each(allowing)(
  "a tool that the policy allows at once by %s starts before the answer is complete",
  async (_by, policy) => {
    expect(await orderUnder(policy, ["b"], "b")).toEqual(["b", "answer"])
  },
)

test.each<[string, Policy]>([
  ["an output rule", { output: [{ block: { tool: "a", pattern: "secret" } }] }],
  ["an ask rule", { rules: [{ ask: { tool: "a" } }], onAsk: () => ({ decision: "approve" }) }],
  ["a deny rule for some arguments", { rules: [{ deny: { tool: "a", args: { "/x": "1" } } }] }],
  ["a rewrite", { rules: [{ allow: { tool: "a" }, set: { "/x": 1 } }] }],
])("%s for one tool delays that tool only", async (_kind, policy) => {
  const order = await orderUnder(policy, ["a", "b"], "b")
  expect(order).toEqual(["b", "answer", "a"])
})

test("a policy service decides about every tool before it starts", async () => {
  const order: string[] = []
  const names = ["a", "b"]
  const decide = async ({ tool }: { readonly tool: string }) => {
    order.push(`decide ${tool}`)
    return { decision: "allow" } as const
  }
  const runtime = createRuntime({
    store: memoryStore(),
    model: callingModel(names, order),
    tools: names.map((name) => toolNamed(order, name)),
    policy: { services: [{ decide, scan: async () => ({ decision: "allow" }) }] },
  })
  await runtime.run({ task: "go" })
  expect(order.filter((each) => each.endsWith("a"))).toEqual(["decide a", "a"])
  expect(order.filter((each) => each.endsWith("b"))).toEqual(["decide b", "b"])
})

/** Every write of a run: the records of each append to a journal, in order. */
function recordingStore(writes: string[]): Store {
  const inner = memoryStore()
  const typesIn = (bytes: Uint8Array) =>
    Array.from(new TextDecoder().decode(bytes).matchAll(/"type":"([a-z-]+)"/g), ([, type]) => type).join(" ")
  return {
    ...inner,
    folder(path) {
      const folder = inner.folder(path)
      const { append } = folder
      return {
        ...folder,
        create(name, bytes) {
          if (name.endsWith(".jsonl")) writes.push(`create ${typesIn(bytes)}`)
          return folder.create(name, bytes)
        },
        ...(append && {
          append: {
            ...append,
            async open(name, first) {
              const file = await append.open(name, first)
              writes.push(`open ${typesIn(first)}`)
              const write = (bytes: Uint8Array) => {
                writes.push(`write ${typesIn(bytes)}`)
                return file?.write(bytes) ?? Promise.resolve()
              }
              return file && { ...file, write }
            },
          },
        }),
      }
    },
  }
}

async function writesUnder(policy: Policy | undefined): Promise<readonly string[]> {
  const writes: string[] = []
  const order: string[] = []
  const tools = [toolNamed(order, "b"), toolNamed(order, "act", "once"), toolNamed(order, "again", "repeatable")]
  const names = tools.map(({ name }) => name)
  const runtime = createRuntime({
    store: recordingStore(writes),
    model: callingModel(names, order, "b"),
    tools,
    ...(policy && { policy }),
  })
  await runtime.run({ task: "go" })
  return writes
}

test.each(allowing)(
  "a policy with %s that allows all calls at once writes exactly what is written without it",
  async (_by, policy) => {
    const [without, with_] = [await writesUnder(undefined), await writesUnder(policy)]
    expect(without.join("\n")).toMatch(/tool-intent/)
    expect(with_).toEqual(without)
  },
)
