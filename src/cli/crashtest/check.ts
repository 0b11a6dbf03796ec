import type { RunRecord } from "../../contract/event.ts"
import type { Message } from "../../contract/message.ts"
import type { Runtime } from "../../contract/run.ts"
import type { ToolStatus } from "../../contract/tool.ts"
import type { WebhookDelivery } from "../../contract/webhook.ts"
import { project, type RunProjection } from "../../journal/projection.ts"
import { crc32 } from "../../lib/crc32.ts"
import { reasonOf } from "../format.ts"
import { type AckLine, acksFile, type EffectLine, ledgerFile } from "./child.ts"
import { readLines } from "./lines.ts"
import { LAST_WORDS, type Workload } from "./workload.ts"

export interface Verdict {
  /** Records that somebody was told of and that are not there, or not as they were. */
  readonly lost: number
  /** Effects of `once` beyond the first. */
  readonly duplicated: number
  readonly unloadable: boolean
  /** Calls whose outcome nobody knows, and that say so. */
  readonly flagged: number
  /** All that is wrong, in words. */
  readonly violations: readonly string[]
}

export interface Evidence {
  /** To look with. */
  readonly runtime: Pick<Runtime, "events" | "webhookDeliveries">
  readonly folder: string
  readonly runId: string
  readonly workload: Workload
  /** How often the run's processes were killed. */
  readonly kills: number
  /** The `webhook-id` of everything that the receiver got. */
  readonly heard: readonly string[]
}

/** Holds a finished run against what its processes did to the world and were told. */
export async function check(evidence: Evidence): Promise<Verdict> {
  const { runtime, folder, runId, workload, kills, heard } = evidence
  const records: RunRecord[] = []
  let deliveries: readonly WebhookDelivery[]
  try {
    for await (const record of runtime.events(runId)) records.push(record)
    deliveries = await runtime.webhookDeliveries(runId)
  } catch (error) {
    const reason = reasonOf(error)
    return { lost: 0, duplicated: 0, unloadable: true, flagged: 0, violations: [`it cannot be loaded: ${reason}`] }
  }
  const run = project(records)
  const lost = lostRecords(readLines<AckLine>(acksFile(folder)), runId, records)
  const { duplicates, wrong } = effectsOf(readLines<EffectLine>(ledgerFile(folder)), runId, records, run, workload)
  const flags = [...run.calls.values()].filter(({ outcome }) => outcome?.status === "unknown")
  return {
    lost: lost.length,
    duplicated: duplicates.length,
    unloadable: false,
    flagged: flags.length,
    violations: [
      ...lost,
      ...duplicates,
      ...wrong,
      ...unfinished(records, run, workload),
      ...brokenMessages(run.messages),
      ...needlessFlags(records, kills),
      ...untold(records, deliveries, heard),
    ],
  }
}

function lostRecords(acks: readonly AckLine[], runId: string, records: readonly RunRecord[]): string[] {
  const encoder = new TextEncoder()
  const sums = records.map((record) => crc32(encoder.encode(JSON.stringify(record))))
  return acks.flatMap((ack) => {
    if (ack.runId === runId && sums[ack.seq] === ack.crc) return []
    return [`the acknowledged record ${ack.seq} of ${ack.runId} is ${records[ack.seq] ? "another now" : "gone"}`]
  })
}

function unfinished(records: readonly RunRecord[], run: RunProjection, { steps }: Workload): string[] {
  const gap = records.findIndex(({ seq }, index) => seq !== index)
  const called = [...run.calls.values()].map(({ name }) => name).join(" ")
  const expected = steps.flatMap((step) => step.map(({ name }) => name)).join(" ")
  return [
    ...(gap < 0 ? [] : [`record ${gap} has the number ${records[gap]?.seq}`]),
    ...(run.status === "done" ? [] : [`it is ${run.status}`]),
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
  runId: string,
  records: readonly RunRecord[],
  run: RunProjection,
  { tools }: Workload,
): Effects {
  const duplicates: string[] = []
  const wrong: string[] = []
  const happened = new Map<string, number[]>()
  for (const { key, pid } of ledger) happened.set(key, [...(happened.get(key) ?? []), pid])
  for (const { callId, name, outcome } of run.calls.values()) {
    const key = `${runId}/main/${callId}`
    const pids = happened.get(key) ?? []
    const times = pids.length
    happened.delete(key)
    const tool = tools.find((each) => each.name === name)
    const settlements = records.filter((record) => record.type === "tool-result" && record.callId === callId).length
    if (settlements !== 1) wrong.push(`${name} ${callId} has ${settlements} results`)
    if (tool?.question !== undefined) {
      if (times > 0) wrong.push(`${name} ${callId} ran, though it is a question`)
      continue
    }
    if (tool?.effect === "once") {
      for (let extra = 1; extra < times; extra++) duplicates.push(`${name} ${callId} happened in the processes ${pids}`)
    }
    const asked = records.some(
      (record) => record.type === "approval-request" && record.callId === callId && record.reason === "unknown_outcome",
    )
    if (!asked && !fits(times, outcome?.status)) {
      wrong.push(`${name} ${callId} is on record as ${outcome?.status} and happened ${times} times`)
    }
  }
  // What has no effect may run before its call is on record, and is then forgotten.
  const strays = ledger.filter(({ key, effect }) => happened.has(key) && effect !== "none")
  for (const { name, key } of strays) wrong.push(`${name} ${key} happened and is on no record`)
  return { duplicates, wrong }
}

function fits(times: number, status: ToolStatus | undefined): boolean {
  if (status === "ok") return times > 0
  if (status === "denied") return times === 0
  return status !== undefined
}

/** Every call of an answer has its result in the message behind it, in the same order. */
function brokenMessages(messages: readonly Message[]): string[] {
  return messages.flatMap((message, index) => {
    if (message.role !== "assistant") return []
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []))
    const next = messages[index + 1]
    const results = next?.role === "tool" ? next.content.map(({ callId }) => callId) : []
    return calls.join() === results.join() ? [] : [`message ${index} has the calls ${calls} and the results ${results}`]
  })
}

/** A flag says that a process died between intent and receipt: it follows both the intent and the resume behind it. */
function needlessFlags(records: readonly RunRecord[], kills: number): string[] {
  return records.flatMap((record, index) => {
    if (record.type !== "tool-result" || record.outcome.status !== "unknown") return []
    if (kills === 0) return [`${record.callId} is flagged, though nobody was killed`]
    const resumed = records.slice(0, index).findLastIndex(({ type }) => type === "run-resume")
    const intent = records.findIndex((each) => each.type === "tool-intent" && each.callId === record.callId)
    const isPlain = records.slice(resumed + 1, index).every(({ type }) => type === "tool-result" || type === "warning")
    if (intent >= 0 && intent < resumed && isPlain) return []
    return [`${record.callId} is flagged where no process died between its intent and its receipt`]
  })
}

/** At least once each, under one id, and nothing else. */
function untold(
  records: readonly RunRecord[],
  deliveries: readonly WebhookDelivery[],
  heard: readonly string[],
): string[] {
  const owed = records.filter(({ type }) => type === "run-pause" || type === "run-end")
  const silent = owed.filter(({ seq }) => {
    const delivery = deliveries.find((each) => each.seq === seq)
    return delivery?.status !== "delivered" || !heard.includes(delivery.id)
  })
  const strangers = new Set(heard.filter((id) => !deliveries.some((each) => each.id === id)))
  return [
    ...silent.map(({ seq, type }) => `its receiver never heard of the ${type} on record ${seq}`),
    ...Array.from(strangers, (id) => `its receiver heard of ${id}, which is on no record`),
  ]
}
