import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { RunRecord } from "../../src/contract/event.ts"
import type { Folder } from "../../src/contract/store.ts"
import type { Built } from "./built.ts"

export interface Verdict {
  readonly owners: number
  readonly records: number
  readonly effects: number
  readonly unknown: number
  /** The violations as text; empty if every invariant held. */
  readonly violations: readonly string[]
}

/** Compares the disk after a race with everything its processes observed and did. */
export async function checkRace(
  dir: string,
  folder: Folder,
  published: readonly RunRecord[],
  built: Built,
): Promise<Verdict> {
  const before = await built.createReader(folder).next()
  await finish(folder, built)
  const history = await built.createReader(folder).next()
  const lines = history.map((record) => JSON.stringify(record))
  const takes = readTakes(dir)
  const effects = readEffects(dir)
  const violations = [
    ...linear(history),
    ...prefix("what an outside reader published", published, lines),
    ...prefix("what stood before the last take", before, lines),
    ...[...takes.values()].flatMap((take) => acknowledgedOnce(take, lines)),
    ...noZombies(history),
    ...effectsOnce(effects, history),
    ...settledOnce(history),
  ]
  const unknown = history.filter((record) => record.type === "tool-result" && record.outcome.status === "unknown")
  const owners = [...takes.values()].filter(({ acknowledged }) => acknowledged.length > 0).length
  return { owners, records: history.length, effects: effects.length, unknown: unknown.length, violations }
}

/** Whatever happened in the race, the run can be loaded, taken and ended. */
async function finish(folder: Folder, { takeRun, flagUnknown, project }: Built): Promise<void> {
  const journal = await takeRun(folder, {
    first: (history) => [{ type: "run-resume", cause: "recovery" }, ...flagUnknown(project(history))],
  })
  journal.append({ type: "run-end", status: "done" })
  await journal.release()
}

interface Take {
  readonly agent: string
  /** The number of records the owner found when it took the run. */
  readonly found: number
  readonly acknowledged: { readonly seq: number; readonly line: string }[]
}

function readTakes(dir: string): ReadonlyMap<string, Take> {
  const takes = new Map<string, Take>()
  for (const name of readdirSync(dir).filter((each) => each.startsWith("told-"))) {
    for (const line of wholeLines(join(dir, name))) {
      const { agent, found, record } = JSON.parse(line) as { agent: string; found?: number; record?: RunRecord }
      if (found !== undefined) takes.set(agent, { agent, found, acknowledged: [] })
      if (record) takes.get(agent)?.acknowledged.push({ seq: record.seq, line: JSON.stringify(record) })
    }
  }
  return takes
}

function readEffects(dir: string): { callId: string; agent: string }[] {
  return wholeLines(join(dir, "effects")).map((line) => {
    const [callId = "", agent = ""] = line.split(" ")
    return { callId, agent }
  })
}

function wholeLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n").slice(0, -1)
  } catch {
    return []
  }
}

function linear(history: readonly RunRecord[]): string[] {
  const wrong = history.findIndex(({ seq }, index) => seq !== index)
  return wrong < 0 ? [] : [`history is not one line: record ${wrong} has seq ${history[wrong]?.seq}`]
}

function prefix(what: string, records: readonly RunRecord[], lines: readonly string[]): string[] {
  const wrong = records.findIndex((record, index) => JSON.stringify(record) !== lines[index])
  return wrong < 0 ? [] : [`${what} is no prefix of history from record ${wrong} on`]
}

/** An owner's acknowledged records are stored unchanged right after the history that it found. */
function acknowledgedOnce({ agent, found, acknowledged }: Take, lines: readonly string[]): string[] {
  return acknowledged.flatMap(({ seq, line }, index) => [
    ...(seq === found + index ? [] : [`owner ${agent} found ${found} records and was acknowledged seq ${seq}`]),
    ...(lines[seq] === line ? [] : [`acknowledged record ${seq} of owner ${agent} is lost: ${line.slice(0, 120)}`]),
  ])
}

/** After a record of a new owner, no record of the previous one follows. */
function noZombies(history: readonly RunRecord[]): string[] {
  const gone = new Set<string>()
  const violations: string[] = []
  let current: string | undefined
  for (const { agent, seq } of history) {
    // The warning about a dropped tail is the journal's own; it precedes its owner's first record.
    if (agent === undefined || agent === current) continue
    if (gone.has(agent)) violations.push(`record ${seq} of owner ${agent} stands behind its successor's`)
    if (current !== undefined) gone.add(current)
    current = agent
  }
  return violations
}

function effectsOnce(effects: readonly { callId: string; agent: string }[], history: readonly RunRecord[]): string[] {
  const violations: string[] = []
  const done = new Map<string, string>()
  for (const { callId, agent } of effects) {
    const other = done.get(callId)
    if (other !== undefined) violations.push(`${callId} happened twice: by ${other} and by ${agent}`)
    done.set(callId, agent)
    const intent = history.find((record) => record.type === "tool-intent" && record.callId === callId)
    if (intent?.agent !== agent) violations.push(`${callId} was done by ${agent}, its intent is ${intent?.agent}'s`)
  }
  for (const record of history) {
    if (record.type !== "tool-result" || record.outcome.status !== "ok" || done.has(record.callId)) continue
    violations.push(`${record.callId} is recorded as done and never happened`)
  }
  return violations
}

/** One intent and one settlement per call, in this order; after the last take none is open. */
function settledOnce(history: readonly RunRecord[]): string[] {
  const calls = new Map<string, string>()
  for (const record of history) {
    if (record.type !== "tool-intent" && record.type !== "tool-result") continue
    calls.set(record.callId, `${calls.get(record.callId) ?? ""}${record.type === "tool-intent" ? "I" : "R"}`)
  }
  return [...calls].filter(([, story]) => story !== "IR").map(([callId, story]) => `${callId} has the story ${story}`)
}
