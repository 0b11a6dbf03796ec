// Pays an invoice once a person has approved it: the run pauses, and another process resumes it from its journal.
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createRuntime, defineTool, fsStore, type Hooks, type Model, type RunResult } from "longhaul/node"
import { scriptedModel } from "longhaul/testing"
import { z } from "zod"

const payments = new Map<string, number>()

const payInvoice = defineTool({
  name: "pay_invoice",
  description: "Pays an invoice. Returns the reference of the payment.",
  inputSchema: z.object({ invoice: z.string(), usd: z.number().positive() }),
  effect: "once", // must not run twice: its intent is durable before it runs
  run({ invoice, usd }, { idempotencyKey }) {
    payments.set(idempotencyKey, usd) // pass it to a bank that deduplicates by key
    return { invoice, reference: idempotencyKey }
  },
})

const Receipt = z.object({ invoice: z.string(), usd: z.number(), paidAt: z.iso.date() })
type Receipt = z.infer<typeof Receipt>

const hooks: Hooks = {
  gateBeforeTool: (name) =>
    name === "pay_invoice" ? { allow: false, reason: "Payments need an approval." } : { allow: true },
}
const store = fsStore(mkdtempSync(join(tmpdir(), "invoices-")))
const startProcess = (model: Model) => createRuntime({ store, model, tools: [payInvoice], hooks })

function describe(result: RunResult<Receipt>): string {
  switch (result.status) {
    case "done":
      return `done: ${result.data.invoice}, $${result.data.usd}, paid on ${result.data.paidAt}`
    case "paused":
      return `paused: ${result.pause.reason}, ${JSON.stringify(result.data)}`
    case "failed":
    case "cancelled":
      return `${result.status}: ${result.error.code}, ${result.error.message}`
  }
}

// Scripted models stand in for an LLM, so that this runs offline. Name one instead: model: "anthropic:claude-sonnet-4-6".
const asks = scriptedModel([{ parts: [{ toolCall: { name: "pay_invoice", args: { invoice: "INV-7", usd: 250 } } }] }])
const concludes = scriptedModel(['{ "invoice": "INV-7", "usd": 250, "paidAt": "2026-03-02" }'])

const first = startProcess(asks)
const asked = await first.run({ task: "Pay invoice INV-7.", runId: "inv-7", outputSchema: Receipt })
console.log(describe(asked), "| payments:", payments.size)
if (asked.status !== "paused" || asked.pause.pendingToolCall === null) throw new Error("The run did not wait.")
const { ticket } = asked.pause.pendingToolCall
await first.close()

const second = startProcess(concludes) // in practice another process, days later
const approve = () => second.resume({ runId: "inv-7", decision: "approve", ticket, outputSchema: Receipt })
const paid = await approve()
console.log(describe(paid), "| payments:", payments.size)
console.log(describe(await approve()), "| payments:", payments.size)
await second.close()

process.exitCode = paid.status === "done" && paid.data.usd === 250 && payments.size === 1 ? 0 : 1
