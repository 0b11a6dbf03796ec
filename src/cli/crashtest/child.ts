import { writeSync } from "node:fs"
import { join } from "node:path"
import { type Failure, LonghaulError } from "../../contract/error.ts"
import type { RunEvent } from "../../contract/event.ts"
import type { Json } from "../../contract/json.ts"
import type { Pause } from "../../contract/result.ts"
import type { ResumeInput } from "../../contract/run.ts"
import type { Runtime } from "../../contract/runtime.ts"
import type { Store } from "../../contract/store.ts"
import type { Effect, Tool } from "../../contract/tool.ts"
import { createRuntime } from "../../hosts/node/index.ts"
import { crc32 } from "../../lib/crc32.ts"
import { effectOf } from "../../tools/kernel/effect-of.ts"
import { crashing } from "./crashing-store.ts"
import { lineWriter } from "./lines.ts"
import { BEGUN, type ChildPlan, type ChildReport, SAYING, WEBHOOK_SECRET } from "./plan.ts"
import { trialStore } from "./stores.ts"
import { loadWorkload, modelOf, type Workload } from "./workload.ts"

/** The effects: written before the tool itself runs, in a place that no crash undoes. */
export interface EffectLine {
  readonly key: string
  readonly name: string
  readonly effect: Effect
  readonly pid: number
  /** The attempt of the line before it asked a person instead. */
  readonly asked?: true
}

/** A record that a listener received and may rely on. */
export interface AckLine {
  readonly runId: string
  /** The agent whose record it is; absent: the run itself. */
  readonly agent?: string | undefined
  readonly seq: number
  readonly crc: number
}

export const ledgerFile = (folder: string) => join(folder, "ledger.jsonl")
export const acksFile = (folder: string) => join(folder, "acks.jsonl")

/** Deliberate faults that prove the checks would notice; set by tests only. */
export interface Sabotage {
  tools?(tools: readonly Tool[]): readonly Tool[]
  store?(store: Store, plan: ChildPlan): Store
}

/** Drives a trial's run to its end, making the decisions and answers it waits for. */
export async function runChild(
  plan: ChildPlan,
  { tools = (given) => given, store = (given) => given }: Sabotage = {},
): Promise<void> {
  const workload = await loadWorkload(plan.tools)
  const counted = crashing(await trialStore(plan.store, plan.folder), plan.blow, die)
  const works: Promise<unknown>[] = []
  const runtime = createRuntime({
    store: store(counted.store, plan),
    // The store must be outside of it, so that no tool looks into it.
    workspace: join(plan.folder, "workspace"),
    model: modelOf(workload),
    tools: tools(observed(workload, plan.folder)),
    ...gate(workload),
    ...(workload.onAsk && { policy: { onAsk: workload.onAsk } }),
    ...(workload.agents && { agents: { depth: 2, atOnce: 12 } }),
    executor: { run: (work) => works.push(work) },
    secrets: { CRASHTEST: WEBHOOK_SECRET },
    webhookAllow: [new URL(plan.receiver).host],
  })
  say(BEGUN)
  const runId = await toTheEnd(runtime, works, plan)
  await runtime.close()
  const report: ChildReport = { runId, operations: counted.operations }
  say(JSON.stringify(report))
}

/** Reports only to the parent process: tools may print anything. */
function say(line: string): void {
  writeSync(SAYING, `${line}\n`)
}

function die(): never {
  process.kill(process.pid, "SIGKILL")
  // The signal is on its way: nothing more may happen here.
  for (;;);
}

function observed({ tools }: Workload, folder: string): Tool[] {
  const write = lineWriter(ledgerFile(folder))
  return tools.map((tool) => ({
    ...tool,
    run(args, context) {
      // Safe: a tool without its own validation gets JSON, and with one a wrong value has the strictest effect.
      const effect = effectOf(tool, args as Json)
      const line: EffectLine = { key: context.idempotencyKey, name: tool.name, effect, pid: process.pid }
      write(line)
      const { ask } = context
      if (!ask) return tool.run(args, context)
      return tool.run(args, {
        ...context,
        ask(question, state) {
          write({ ...line, asked: true })
          return ask(question, state)
        },
      })
    },
  }))
}

function gate({ gated }: Workload) {
  if (gated.length === 0) return {}
  const gateBeforeTool = (name: string) =>
    gated.includes(name) ? ({ allow: false, reason: "It is gated." } as const) : ({ allow: true } as const)
  return { hooks: { gateBeforeTool } }
}

async function toTheEnd(runtime: Runtime, works: Promise<unknown>[], { folder, receiver }: ChildPlan): Promise<string> {
  const acknowledge = lineWriter(acksFile(folder))
  const encoder = new TextEncoder()
  const runId = "run"
  const onEvent = (event: RunEvent) => {
    if (!("seq" in event)) return
    const { agent, ...record } = event
    const crc = crc32(encoder.encode(JSON.stringify(record)))
    const line: AckLine = { runId, agent, seq: event.seq, crc }
    acknowledge(line)
  }
  const webhook = { url: receiver, secretRef: "CRASHTEST" }
  await runtime.deliverWebhooks()
  for (;;) {
    // Nothing else runs in the meantime, so operations come in the same order every time.
    await Promise.all(works.splice(0))
    const { status, pause, error } = await runtime.status(runId)
    if (status === "done") return runId
    // The previous owner is dead, so the run resumes immediately without a takeover, or the trial has failed.
    if (status === "not_found") refuse((await runtime.start({ runId, task: "Do all of it.", webhook, onEvent })).error)
    else {
      refuse(error)
      refuse((await runtime.resumeAsync({ runId, ...(pause && decisionOn(pause)), onEvent })).error)
    }
  }
}

function refuse(error: Failure | undefined): void {
  if (error) throw new LonghaulError(error.code, error.message, error)
}

function decisionOn({ reason, pendingToolCall }: Pause): Pick<ResumeInput, "decision" | "answer" | "ticket"> {
  const ticket = pendingToolCall === null ? {} : { ticket: pendingToolCall.ticket }
  if (reason === "input") return { answer: "That way.", ...ticket }
  return { decision: reason === "unknown_outcome" ? "deny" : "approve", ...ticket }
}
