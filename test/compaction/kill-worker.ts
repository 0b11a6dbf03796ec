import { createHash } from "node:crypto"
import { appendFileSync } from "node:fs"
import type { Message } from "../../src/contract/message.ts"
import type { Answer, Model } from "../../src/contract/provider.ts"
import { createOnlyStore, createRuntime, defineTool, fsStore } from "../../src/hosts/node/index.ts"
import { estimateFixed, estimateMessage } from "../../src/lib/compaction/estimate.ts"
import { canonicalJson } from "../../src/lib/json.ts"
import { isSummaryRequest } from "./counting-model.ts"

/** One process of a run whose conversation is shortened again and again. */
export interface Order {
  readonly store: "fs" | "create-only"
  readonly root: string
  readonly workspace: string
  /** The effects of its tool. */
  readonly ledger: string
  /** The requests that its model got: paid for, whatever becomes of them. */
  readonly requests: string
  readonly steps: number
  readonly window: number
}

/** A line of the file of requests. */
export interface Paid {
  readonly pid: number
  readonly kind: "turn" | "summary"
  /** Of the messages. */
  readonly digest: string
}

export function digestOf(messages: readonly Message[]): string {
  return createHash("sha256")
    .update(canonicalJson(JSON.parse(JSON.stringify(messages))))
    .digest("hex")
}

// The test itself imports this file, too.
const given = process.argv[2]
if (given?.startsWith("{")) await work(JSON.parse(given) as Order)

async function work({ store, root, workspace, ledger, requests, steps, window }: Order): Promise<void> {
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    inputSchema: { type: "object" },
    effect: "once",
    run(_, { idempotencyKey }) {
      appendFileSync(ledger, `${idempotencyKey}\n`)
      return "paid"
    },
  })
  const runtime = createRuntime({
    store: store === "fs" ? fsStore(root) : createOnlyStore(root),
    workspace,
    model: countingSteps(requests, steps, window),
    tools: [pay],
    limits: { turns: 10 * steps },
    env: {},
  })
  const onEvent = ({ type }: { readonly type: string }) => {
    if (type === "compaction") process.send?.("compaction")
  }
  const { status } = await runtime.status("r")
  const result =
    status === "not_found"
      ? await runtime.run({ runId: "r", task: "The task: count.", onEvent })
      : await runtime.resume({ runId: "r", onEvent })
  process.send?.({ status: result.status, text: result.text, error: result.error })
  // Until it is killed.
  setInterval(() => {}, 1_000)
}

/** Counts the steps by the numbers in its conversation or in the summary: any process can continue it. */
function countingSteps(file: string, steps: number, window: number): Model {
  const numberIn = (text: string) => Math.max(0, ...Array.from(text.matchAll(/Step (\d+)/g), ([, n]) => Number(n)))
  return {
    provider: "counting",
    id: "counting",
    contextTokens: window,
    converse: (setup) => ({
      async call(messages): Promise<Answer> {
        const isSummary = isSummaryRequest(messages)
        const paid: Paid = { pid: process.pid, kind: isSummary ? "summary" : "turn", digest: digestOf(messages) }
        appendFileSync(file, `${JSON.stringify(paid)}\n`)
        if (isSummary) {
          process.send?.("summary")
          await new Promise((resolve) => setTimeout(resolve, 8))
        }
        const last = numberIn(JSON.stringify(messages))
        const fixed = estimateFixed(setup.system, [setup.tools, null])
        const tokens = messages.reduce((sum, message) => sum + estimateMessage(message), fixed)
        const usage = { inputTokens: Math.ceil(tokens), outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 }
        const text = { type: "text" as const, text: `Step ${last + 1}: ${"alpha beta gamma delta ".repeat(100)}` }
        const call = { type: "tool-call" as const, wireId: `w${last + 1}`, name: "pay", args: {} }
        const isOver = last >= steps
        return {
          parts: isSummary
            ? [{ type: "text", text: `Done: Step ${last}.` }]
            : isOver
              ? [{ type: "text", text: "Finished." }]
              : [text, call],
          stopReason: isSummary || isOver ? "end" : "tool-calls",
          usage: { ...usage, costUsd: null },
          model: "counting",
        }
      },
    }),
  }
}
