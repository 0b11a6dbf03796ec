import { native } from "../../src/backends/native/index.ts"
import type { RunEvent } from "../../src/contract/event.ts"
import type { RunResult } from "../../src/contract/result.ts"
import type { Runtime } from "../../src/contract/runtime.ts"
import type { Store } from "../../src/contract/store.ts"
import { createRuntime } from "../../src/index.ts"
import { totalTokens } from "../../src/lib/usage.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { createSimulator, type FaultOrder, renderAnswer } from "../../src/testing/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"
import { agent, calls, eventsOf, mortalStore, part } from "./agent-scene.ts"
import { MeteredAgents } from "./metered-agents.ts"
import { providersUnderTest } from "./providers-under-test.ts"

/** A kind of run under a limit. */
export interface Kind {
  readonly name: string
  /** The share of requests whose streams are cut. */
  readonly cuts: number
  /** How many processes at most end in the middle of the work: killed, or closed. */
  readonly crashes: number
  /** How many levels of agents are below the run. */
  readonly depth: number
  readonly limit: "tokens" | "usd"
  /** The runs and their agents are of an ACP agent that reports its usage as it works. */
  readonly isAcp?: true
}

/** What was paid for a request. */
interface Price {
  readonly tokens: number
  readonly usd: number
}

const pricing = { input: 1, output: 5 }

/** What the server was paid, the most expensive request, and the most requests that were under way at once. */
export class Bill {
  #paid: Price = { tokens: 0, usd: 0 }
  #largest: Price = { tokens: 0, usd: 0 }
  #begun = 0
  #counted = 0
  /** A request is under way until the budget has counted it: forever, if it is lost with its process. */
  most = 0
  /** ACP agents that were killed: each may leave one request that is never reported. */
  killed = 0

  begin(): void {
    this.#begun++
    this.#look()
  }

  pay(inputTokens: number, outputTokens: number): void {
    const [tokens, usd] = [
      inputTokens + outputTokens,
      (inputTokens * pricing.input + outputTokens * pricing.output) / 1_000_000,
    ]
    this.#paid = { tokens: this.#paid.tokens + tokens, usd: this.#paid.usd + usd }
    this.#largest = { tokens: Math.max(this.#largest.tokens, tokens), usd: Math.max(this.#largest.usd, usd) }
  }

  /** The budget has counted a request. */
  count(): void {
    this.#counted++
  }

  /** A further process knows only what is durable. */
  restart(durable: number): void {
    this.#counted = durable
    this.#look()
  }

  get underWay(): number {
    return this.#begun - this.#counted
  }

  #look(): void {
    this.most = Math.max(this.most, this.underWay)
  }

  /** How many of the most expensive requests were paid for beyond the limit. */
  callsOver({ limit }: Kind, amount: number): number {
    return Math.max(0, this.#paid[limit] - amount) / this.#largest[limit]
  }

  paid({ limit }: Kind): number {
    return this.#paid[limit]
  }
}

/** A generator of numbers from 0 to 1, so that a failure can be repeated. */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) | 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}

/** A server that bills what it has sent: the whole input, and of a cut answer the tokens before the cut. */
function serverOf(kind: Kind, bill: Bill, random: () => number) {
  const faults = new Map<number, FaultOrder>()
  return createSimulator({
    faults({ index }) {
      const luck = random()
      if (luck < 0.1) return { kind: "status", status: 529 }
      if (luck > 0.1 + 0.9 * kind.cuts) return null
      const fault: FaultOrder = { kind: luck < 0.5 ? "cut" : "reset", atByte: Math.floor(random() * 1_500) }
      faults.set(index, fault)
      return fault
    },
    async script(request) {
      if (!kind.isAcp) bill.begin()
      await new Promise((resolve) => setImmediate(resolve))
      const outputTokens = 20 + Math.floor(random() * 200)
      const inputTokens = Math.ceil(JSON.stringify(request.body).length / 4)
      const text = { text: "word".repeat(outputTokens) }
      const below = Number(/level (\d)/.exec(request.messages[0]?.text ?? "")?.[1] ?? 0)
      const isFirst = request.messages.length === 1
      const next = below === 0 ? calls(part("look")).parts : isFirst ? team(below - 1, random) : []
      const answer = {
        parts: [text, ...(below === 0 && random() < 0.05 ? [] : next)],
        usage: { inputTokens, outputTokens },
      }
      const fault = faults.get(request.index)
      const sent = fault && "atByte" in fault ? (fault.atByte ?? 0) / renderAnswer(answer, request).length : 1
      bill.pay(inputTokens, Math.ceil(outputTokens * Math.min(1, sent)))
      if (!kind.isAcp) bill.count()
      return answer
    },
  })
}

/** Agents of a level, in the foreground or in the background. */
function team(level: number, random: () => number) {
  const count = 2 + Math.floor(random() * 2)
  return Array.from({ length: count }, (_, each) =>
    agent(`part ${each} on level ${level}`, { background: random() < 0.6 }),
  )
}

const look = defineTool({
  name: "look",
  description: "looks",
  inputSchema: { type: "object" },
  effect: "none",
  run: () => "There is nothing to be seen here. ".repeat(10),
})

/** One run until its budget is used up, over as many processes as that takes. */
export async function spend(kind: Kind, seed: number) {
  const random = randomOf(seed)
  const bill = new Bill()
  const server = serverOf(kind, bill, random)
  const provider = providersUnderTest[Math.floor(random() * providersUnderTest.length)] ?? providersUnderTest[0]
  const model = provider?.model(server.fetch)
  const tokens = 5_000 + Math.floor(random() * 30_000)
  const amount = kind.limit === "tokens" ? tokens : tokens / 500_000
  const inner = memoryStore()
  const processOver = (store: Store) => {
    const acp = kind.isAcp && model ? new MeteredAgents(model, bill) : undefined
    const runtime = createRuntime({
      store,
      ...(acp ? {} : model && { model }),
      backend: acp?.backend ?? native({ retry: { attempts: 4, firstMs: 1, longestMs: 1 } }),
      tools: [look],
      policy: { mode: "auto" },
      agents: { depth: Math.max(1, kind.depth), total: 100 },
      resolvePricing: () => pricing,
      limits: { turns: 500, [kind.limit]: amount },
    })
    return { runtime, acp }
  }
  let result: RunResult | undefined
  // A run that was cut too often fails: a person resumes it until its budget is used up.
  for (let processes = 0; processes < 20 && !isOver(result); processes++) {
    const mortal = mortalStore(inner)
    const { runtime, acp } = processOver(mortal.store)
    const dies = processes < kind.crashes ? 3 + Math.floor(random() * 40) : Number.POSITIVE_INFINITY
    const isClosed = random() < 0.4
    let records = 0
    const onEvent = (event: RunEvent) => {
      if (!("seq" in event) || ++records !== dies) return
      if (isClosed) return void runtime.close({ release: true })
      mortal.die()
      bill.killed += acp?.die() ?? 0
    }
    if (acp && processes > 0) bill.restart(await countReports(runtime))
    const work =
      processes === 0
        ? runtime.run({ task: `lead of level ${kind.depth}`, runId: "r", maxOutputTokens: 400, onEvent })
        : runtime.resume({ runId: "r", takeover: true, onEvent })
    const ended = await Promise.race([work, mortal.died.then(() => undefined)])
    // A process that died before its first record has left no run.
    if (ended?.error?.code !== "not_found") result = ended
  }
  return { bill, amount, code: result?.error?.code }
}

/** The requests of ACP agents that the journal has. */
async function countReports(runtime: Runtime): Promise<number> {
  // A process that died before its first record has left no run.
  const records = await eventsOf(runtime, "r").catch(() => [])
  return records.filter((record) => record.type === "metering" && totalTokens(record.usage)).length
}

function isOver(result: RunResult | undefined): boolean {
  return result?.error?.code === "budget_exceeded" || result?.status === "done"
}
