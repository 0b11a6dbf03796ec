import type { Blow } from "./plan.ts"
import type { TrialReport } from "./trial.ts"

/** How the processes of a trial were killed. */
export type RowKind = Blow["when"] | "random"

export type Row = Readonly<Record<(typeof columns)[number], number>> & { readonly kind: RowKind }

export interface Counts {
  readonly rows: readonly Row[]
  readonly total: Omit<Row, "kind">
  readonly violations: readonly string[]
}

/** A checked trial and its label. */
export interface Judged {
  readonly kind: RowKind
  readonly name: string
  readonly report: TrialReport
}

export const columns = [
  "runs",
  "kills",
  "resumed",
  "flagged",
  "lost",
  "duplicated",
  "unloadable",
  "violations",
] as const

export function countsOf(trials: readonly Judged[]): Counts {
  const rows = kinds.flatMap((kind) => {
    const ofKind = trials.filter((trial) => trial.kind === kind)
    return ofKind.length === 0 ? [] : [{ kind, ...summed(ofKind) }]
  })
  return {
    rows,
    total: summed(trials),
    violations: trials.flatMap(({ name, report }) => report.violations.map((violation) => `${name}: ${violation}`)),
  }
}

const kinds: readonly RowKind[] = ["before", "torn", "after", "random"]

function summed(trials: readonly Judged[]): Omit<Row, "kind"> {
  const sum = (count: (report: TrialReport) => number) => trials.reduce((total, { report }) => total + count(report), 0)
  return {
    runs: trials.length,
    kills: sum(({ kills }) => kills),
    resumed: sum(({ resumed }) => Number(resumed)),
    flagged: sum(({ flagged }) => flagged),
    lost: sum(({ lost }) => lost),
    duplicated: sum(({ duplicated }) => duplicated),
    unloadable: sum(({ unloadable }) => Number(unloadable)),
    violations: sum(({ violations }) => violations.length),
  }
}
