// A support desk: one ticket, two tools, a structured answer, a budget, and a server that cuts the connection once.
import { createMetricsObserver, createRuntime, defineTool, ToolError } from "longhaul"
import { native } from "longhaul/backends/native"
import { serve } from "longhaul/node"
import { anthropic } from "longhaul/providers/anthropic"
import { createSimulator } from "longhaul/testing"

const orders = new Map([["A-17", { article: "storm lamp", paid: 48, delivered: "broken" }]])
const refunds = new Map()

const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order by its number.",
  inputSchema: { type: "object", properties: { number: { type: "string" } }, required: ["number"] },
  effect: "none",
  run({ number }) {
    const order = orders.get(number)
    if (order === undefined) throw new ToolError("not_found", `There is no order ${number}.`)
    return order
  },
})

const refund = defineTool({
  name: "refund",
  description: "Pays an amount back, once.",
  inputSchema: {
    type: "object",
    properties: { number: { type: "string" }, amount: { type: "number", exclusiveMinimum: 0 } },
    required: ["number", "amount"],
  },
  effect: "once",
  run({ number, amount }, { idempotencyKey }) {
    if (amount > (orders.get(number)?.paid ?? 0)) throw new ToolError("conflict", "That is more than was paid.")
    refunds.set(idempotencyKey, { number, amount })
    return { paidBack: amount }
  },
})

const reply = {
  type: "object",
  properties: { reply: { type: "string" }, refunded: { type: "number" } },
  required: ["reply", "refunded"],
}

// Stands in for the provider, as a real server on loopback. Without `baseUrl` and with a key, an LLM does the work.
const simulator = createSimulator({
  script({ lastToolResults: [result] }) {
    const call = (name, args) => ({ parts: [{ toolCall: { name, args: { number: "A-17", ...args } } }] })
    if (result === undefined) return call("find_order")
    if (result.isError) return call("refund", { amount: 48 })
    const { paid, paidBack } = JSON.parse(result.text)
    // Asks for too much first: the tool rejects it, and the model gets the reason.
    if (paidBack === undefined) return call("refund", { amount: paid + 2 })
    return JSON.stringify({ reply: "We are sorry about the lamp. Your money is on its way.", refunded: paidBack })
  },
  // The first answer is complete. The second, which orders the refund, is cut and requested again.
  faults: [null, { kind: "cut", atByte: 900 }],
})
const server = await serve(simulator.fetch)

const metrics = createMetricsObserver()
const runtime = createRuntime({
  model: anthropic({ model: "claude-sonnet-4-6", apiKey: "any", baseUrl: server.url, maxOutputTokens: 1024 }),
  backend: native({ retry: { firstMs: 10 } }),
  tools: [findOrder, refund],
  limits: { turns: 8, usd: 0.1, timeMs: 60_000 },
  hooks: {
    postToolCall({ name, args, callId }, { status }) {
      if (name === "refund") console.log(`audit: call ${callId} to pay back ${args.amount}: ${status}`)
    },
  },
  observers: [metrics],
})

console.log("ticket: order A-17 arrived broken")
const result = await runtime.run({
  task: "Order A-17 arrived broken. I want my money back.",
  system: "You work at the support desk of a ship chandler. Never pay back more than was paid.",
  outputSchema: reply,
})
const { tokens, errors, tools } = metrics.snapshot()
console.log("status:", result.error?.message ?? result.status)
console.log("data:", JSON.stringify(result.data), `(${result.structuredSource})`)
console.log("refunds made:", JSON.stringify([...refunds.values()]))
console.log("retried:", JSON.stringify(errors.byCode), "failed calls:", JSON.stringify(tools.errorsByName))
console.log(`used: ${tokens.input + tokens.output} tokens, $${result.usage.costUsd?.toFixed(4)} of $0.1`)

await runtime.close()
await server.close()
process.exitCode = result.status === "done" && refunds.size === 1 ? 0 : 1
