import type { Blow } from "./plan.ts"
import { random } from "./random.ts"
import { startReceiver } from "./receiver.ts"
import { trialStore } from "./stores.ts"
import { type Counts, countsOf, type Judged, type RowKind } from "./tally.ts"
import { type Kill, runTrial, type Setting, type TrialReport } from "./trial.ts"
import { loadWorkload } from "./workload.ts"

export interface CampaignOptions extends Omit<Setting, "workload" | "receiver"> {
  /** Number of processes killed at random times. */
  readonly kills: number
  /** Number of enumerated points, spread evenly. Default: all. */
  readonly sample?: number | undefined
  readonly seed: number
  /** Ends the campaign early with the counts so far. */
  readonly signal?: AbortSignal
  readonly progress?: (done: number, planned: number) => void
}

export interface CampaignReport extends Counts {
  readonly store: string
  readonly seed: number
  /** Durable operations of a run that is not killed. */
  readonly operations: number
  /** Number of points at which a run can be killed; all or some were used. */
  readonly points: number
}

/** One run without kills, then one killed at each point, then runs killed at random. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  // Reject an invalid workload before killing anything.
  await trialStore(options.store, options.folder)
  const workload = await loadWorkload(options.tools)
  const receiver = await startReceiver()
  try {
    return await killAll({ ...options, workload, receiver }, options)
  } finally {
    await receiver.close()
  }
}

async function killAll(setting: Setting, options: CampaignOptions): Promise<CampaignReport> {
  const { store, kills, sample, seed, signal, progress } = options
  const pick = random(seed)
  // The first run warms caches that later runs find warm.
  const clean = [await runTrial(setting, []), await runTrial(setting, [])] as const
  const { operations } = clean[1]
  const points = pointsOf(operations, pick)
  const summary = { store, seed, operations: operations.length, points: points.length }
  const spoilt = clean.flatMap(({ violations }) => violations.map((violation) => `without any kill: ${violation}`))
  // Failures without a kill prove nothing about kills.
  if (spoilt.length > 0 && !signal?.aborted) return { ...summary, ...countsOf([]), violations: spoilt }

  const judged: Judged[] = []
  const chosen = spread(points, operations, sample ?? points.length)
  const planned = chosen.length + kills
  let done = 0
  const trial = async (kind: RowKind, name: string, blows: readonly Kill[]): Promise<TrialReport> => {
    const report = await runTrial(setting, blows)
    // The signal that ended this process may have ended its children too.
    if (signal?.aborted) return report
    judged.push({ kind, name, report })
    done += report.kills
    progress?.(done, planned)
    return report
  }

  await inPairs(signal, () => {
    const point = chosen.shift()
    return point && trial(point.when, `${point.when} operation ${point.at}, ${operations[point.at]}`, [point])
  })
  let { spanMs } = clean[1]
  let left = kills
  let tries = 0
  await inPairs(signal, () => {
    if (left === 0 || tries++ > kills * 2) return undefined
    // Sometimes kill the resuming process, too.
    const blows = Array.from({ length: Math.min(left, pick(3) === 0 ? 2 : 1) }, () => ({ afterMs: pick(spanMs) }))
    left -= blows.length
    const name = `after ${blows.map(({ afterMs }) => `${afterMs} ms`).join(" and ")}`
    return trial("random", name, blows).then((report) => {
      left += blows.length - report.kills
      // A run that no kill hit shows how long a run takes now.
      if (report.kills === 0) spanMs = report.spanMs
    })
  })
  return { ...summary, ...countsOf(judged) }
}

/** Every operation, before and after; partial writes also in the middle. */
function pointsOf(operations: readonly string[], pick: (below: number) => number): Blow[] {
  return operations.flatMap((kind, at) => {
    const whens: readonly Blow["when"][] = kind === "write" ? ["before", "torn", "after"] : ["before", "after"]
    return whens.map((when) => ({ at, when, part: pick(1000) / 1000 }))
  })
}

/** Some of the points: as many of every operation, before, within and after it, each from all of the run. */
function spread(points: readonly Blow[], operations: readonly string[], count: number): Blow[] {
  if (count >= points.length) return [...points]
  const groups = new Map<string, Blow[]>()
  for (const point of points) {
    const kind = `${operations[point.at]} ${point.when}`
    groups.set(kind, [...(groups.get(kind) ?? []), point])
  }
  const largestFirst = [...groups.values()].sort((left, right) => right.length - left.length)
  return largestFirst.flatMap((group, index) => {
    const share = Math.floor(count / groups.size) + (index < count % groups.size ? 1 : 0)
    // Each group begins elsewhere, so that together they cover more of the run.
    const offset = (index + 0.5) / groups.size
    const places = Array.from({ length: share }, (_, at) => Math.floor(((at + offset) * group.length) / share))
    return places.flatMap((place) => group.slice(place, place + 1))
  })
}

/** Two at a time until all are done. */
async function inPairs(signal: AbortSignal | undefined, next: () => Promise<unknown> | undefined): Promise<void> {
  const work = async () => {
    while (!signal?.aborted) {
      const task = next()
      if (task === undefined) return
      await task
    }
  }
  await Promise.all([work(), work()])
}
