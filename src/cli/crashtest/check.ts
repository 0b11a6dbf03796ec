import type { RunRecord } from "../../contract/event.ts"
import type { Message } from "../../contract/message.ts"
import type { Runtime } from "../../contract/runtime.ts"
import type { RunKey } from "../../contract/store.ts"
import type { ToolStatus } from "../../contract/tool.ts"
import type { WebhookDelivery } from "../../contract/webhook.ts"
import { project, type RunProjection } from "../../journal/projection.ts"
import { plainText } from "../../lib/content.ts"
import { crc32 } from "../../lib/crc32.ts"
import { callKey } from "../../lib/tenant/run-keys.ts"
import { effectOf } from "../../tools/kernel/effect-of.ts"
import { reasonOf } from "../format.ts"
import { type AckLine, acksFile, type EffectLine, ledgerFile } from "./child.ts"
import { readLines } from "./lines.ts"
import { LAST_WORDS, stepsOf, type Workload } from "./workload.ts"

export interface CrashVerdict {
  /** Records that were acknowledged and are missing or changed. */
  readonly lost: number
  /** Effects of `once` beyond the first. */
  readonly duplicated: number
  readonly unloadable: boolean
  /** Calls recorded with an unknown outcome. */
  readonly flagged: number
  /** All violations, as text. */
  readonly violations: readonly string[]
}

export interface Evidence {
  /** For inspection. */
  readonly runtime: Pick<Runtime, "events" | "webhookDeliveries">
  readonly folder: string
  readonly runId: string
  readonly workload: Workload
  /** How often the run's processes were killed. */
  readonly kills: number
  /** The `webhook-id` of every delivery the receiver got. */
  readonly received: readonly string[]
}

/** Checks a finished run against the effects its processes had and the records they acknowledged. */
export async function check(evidence: Evidence): Promise<CrashVerdict> {
  const { runtime, folder, runId, workload, kills, received } = evidence
  const byAgent = new Map<string, RunRecord[]>([["", []]])
  let deliveries: readonly WebhookDelivery[]
  try {
    for await (const { agent = "", ...record } of runtime.events(runId, { agents: true })) {
      byAgent.set(agent, [...(byAgent.get(agent) ?? []), record])
    }
    deliveries = await runtime.webhookDeliveries(runId)
  } catch (error) {
    const reason = reasonOf(error)
    return { lost: 0, duplicated: 0, unloadable: true, flagged: 0, violations: [`the run cannot be loaded: ${reason}`] }
  }
  const acks = readLines<AckLine>(acksFile(folder))
  const ledger = acted(readLines<EffectLine>(ledgerFile(folder)))
  const known = new Set<string>()
  const parts = Array.from(byAgent, ([agent, records]) => {
    const run = project(records)
    const { duplicates, wrong } = effectsOf(ledger, keyOf(runId, agent, run), records, run, workload, known)
    const lost = lostRecords(acks, runId, agent, records)
    const others = [
      ...wrong,
      ...unfinished(records, run, workload),
      ...brokenMessages(run.messages),
      ...needlessFlags(records, kills),
      ...undeliveredAgents(records),
    ]
    const flags = [...run.calls.values()].filter(({ outcome }) => outcome?.status === "unknown")
    return {
      lost,
      duplicates,
      flags,
      others: others.map((violation) => (agent ? `agent ${agent}: ${violation}` : violation)),
    }
  })
  const all = <Key extends "lost" | "duplicates" | "others">(key: Key) => parts.flatMap((each) => each[key])
  const orphans = acks.filter(({ agent = "" }) => !byAgent.has(agent))
  const lost = [
    ...all("lost"),
    ...orphans.map(({ agent, seq }) => `the acknowledged record ${seq} of agent ${agent} is missing`),
  ]
  const duplicates = all("duplicates")
  const flags = parts.flatMap((each) => each.flags)
  return {
    lost: lost.length,
    duplicated: duplicates.length,
    unloadable: false,
    flagged: flags.length,
    violations: [
      ...lost,
      ...duplicates,
      ...all("others"),
      ...strays(ledger, known),
      ...undelivered(byAgent.get("") ?? [], deliveries, received),
    ],
  }
}

/** The attempts that did not end with a question: such a one has had no effect. */
function acted(lines: readonly EffectLine[]): readonly EffectLine[] {
  const kept: EffectLine[] = []
  for (const line of lines) {
    if (!line.asked) kept.push(line)
    else
      kept.splice(
        kept.findLastIndex(({ key, pid }) => key === line.key && pid === line.pid),
        1,
      )
  }
  return kept
}

function keyOf(runId: string, agent: string, { tenant }: RunProjection): RunKey {
  return { workspaceId: "default", tenant, runId, nodeId: "main", ...(agent !== "" && { agent }) }
}

function lostRecords(acks: readonly AckLine[], runId: string, agent: string, records: readonly RunRecord[]): string[] {
  const encoder = new TextEncoder()
  const sums = records.map((record) => crc32(encoder.encode(JSON.stringify(record))))
  return acks.flatMap((ack) => {
    if ((ack.agent ?? "") !== agent) return []
    if (ack.runId === runId && sums[ack.seq] === ack.crc) return []
    return [`the acknowledged record ${ack.seq} of ${ack.runId} ${records[ack.seq] ? "has changed" : "is missing"}`]
  })
}

function unfinished(records: readonly RunRecord[], run: RunProjection, workload: Workload): string[] {
  const [task] = run.input?.messages ?? []
  const steps = stepsOf(workload, task?.role === "user" ? plainText(task.content, "") : "")
  const gap = records.findIndex(({ seq }, index) => seq !== index)
  const called = [...run.calls.values()].map(({ name }) => name).join(" ")
  const expected = steps.flatMap((step) => step.map(({ name }) => name)).join(" ")
  return [
    ...(gap < 0 ? [] : [`record ${gap} has the number ${records[gap]?.seq}`]),
    ...(run.status === "done" ? [] : [`its status is ${run.status}`]),
    ...(run.text === LAST_WORDS ? [] : [`it ended with ${JSON.stringify(run.text)}`]),
    ...(called === expected ? [] : [`its calls were ${called}, not ${expected}`]),
  ]
}

interface Effects {
  readonly duplicates: readonly string[]
  readonly wrong: readonly string[]
}

function effectsOf(
  ledger: readonly EffectLine[],
  of: RunKey,
  records: readonly RunRecord[],
  run: RunProjection,
  { tools }: Workload,
  known: Set<string>,
): Effects {
  const duplicates: string[] = []
  const wrong: string[] = []
  const happened = new Map<string, number[]>()
  for (const { key, pid } of ledger) happened.set(key, [...(happened.get(key) ?? []), pid])
  for (const { callId, name, args, outcome } of run.calls.values()) {
    const key = callKey(of, callId)
    const pids = happened.get(key) ?? []
    const times = pids.length
    known.add(key)
    const tool = tools.find((each) => each.name === name)
    const settlements = records.filter((record) => record.type === "tool-result" && record.callId === callId).length
    if (settlements !== 1) wrong.push(`${name} ${callId} has ${settlements} results`)
    if (tool === undefined) {
      // An agent is never in doubt: its own journal says how far it got.
      if (outcome?.status !== "ok") wrong.push(`${name} ${callId} is recorded as ${outcome?.status}`)
      continue
    }
    if (tool.question !== undefined) {
      if (times > 0) wrong.push(`${name} ${callId} ran, although it is a question`)
      continue
    }
    if (effectOf(tool, args) === "once") {
      for (let extra = 1; extra < times; extra++)
        duplicates.push(`${name} ${callId} had its effect in the processes ${pids}`)
    }
    const asked = records.some(
      (record) => record.type === "approval-request" && record.callId === callId && record.reason === "unknown_outcome",
    )
    if (!asked && !fits(times, outcome?.status)) {
      wrong.push(`${name} ${callId} is recorded as ${outcome?.status} and had its effect ${times} times`)
    }
  }
  return { duplicates, wrong }
}

/** A call without an effect may run before it is recorded, and is then dropped. */
function strays(ledger: readonly EffectLine[], known: ReadonlySet<string>): string[] {
  const unrecorded = ledger.filter(({ key, effect }) => !known.has(key) && effect !== "none")
  return unrecorded.map(({ name, key }) => `${name} ${key} had its effect and is not recorded`)
}

function fits(times: number, status: ToolStatus | undefined): boolean {
  if (status === "ok") return times > 0
  if (status === "denied") return times === 0
  return status !== undefined
}

/** Every call of an answer has its result in the next message, in the same order. */
function brokenMessages(messages: readonly Message[]): string[] {
  return messages.flatMap((message, index) => {
    if (message.role !== "assistant") return []
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []))
    const next = messages[index + 1]
    const results = next?.role === "tool" ? next.content.map(({ callId }) => callId) : []
    return calls.join() === results.join() ? [] : [`message ${index} has the calls ${calls} and the results ${results}`]
  })
}

/** A flag means that a process died between intent and receipt, so it follows both the intent and the later resume. */
function needlessFlags(records: readonly RunRecord[], kills: number): string[] {
  return records.flatMap((record, index) => {
    if (record.type !== "tool-result" || record.outcome.status !== "unknown") return []
    if (kills === 0) return [`${record.callId} is flagged, although no process was killed`]
    const resumed = records.slice(0, index).findLastIndex(({ type }) => type === "run-resume")
    const isStep = ({ type }: RunRecord) => type === "tool-intent" || type === "tool-question"
    const intent = records.findLastIndex((each) => isStep(each) && "callId" in each && each.callId === record.callId)
    const isPlain = records.slice(resumed + 1, index).every(({ type }) => type === "tool-result" || type === "warning")
    // A call that waits for an answer is not in doubt.
    const isBegun = intent >= 0 && intent < resumed && records[intent]?.type === "tool-intent"
    if (isBegun && isPlain) return []
    return [`${record.callId} is flagged, although no process died between its intent and its receipt`]
  })
}

/** The end of each agent in the background reaches the model exactly once, and no other end does. */
function undeliveredAgents(records: readonly RunRecord[]): string[] {
  const started = records.flatMap((each) => (each.type === "agent-start" && each.background ? [each.agentId] : []))
  const delivered = records.flatMap((each) =>
    each.type === "steer" && each.agentId !== undefined ? [each.agentId] : [],
  )
  return Array.from(new Set([...started, ...delivered]), (agentId) => {
    const times = delivered.filter((each) => each === agentId).length
    return started.includes(agentId) && times === 1 ? [] : [`the end of agent ${agentId} was delivered ${times} times`]
  }).flat()
}

/** Each is delivered at least once, under one id, and nothing else is. */
function undelivered(
  records: readonly RunRecord[],
  deliveries: readonly WebhookDelivery[],
  received: readonly string[],
): string[] {
  const owed = records.filter(({ type }) => type === "run-pause" || type === "run-end")
  const silent = owed.filter(({ seq }) => {
    const delivery = deliveries.find((each) => each.seq === seq)
    return delivery?.status !== "delivered" || !received.includes(delivery.id)
  })
  const strangers = new Set(received.filter((id) => !deliveries.some((each) => each.id === id)))
  return [
    ...silent.map(({ seq, type }) => `the receiver never got the ${type} of record ${seq}`),
    ...Array.from(strangers, (id) => `the receiver got ${id}, which is not recorded`),
  ]
}
