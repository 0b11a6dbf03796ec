import type { RunKey } from "../../contract/store.ts"
import { runPath } from "../../journal/paths.ts"
import type { KnownRow } from "../../journal/row.ts"

/** Keeps the records of runs that this process released, so that it can resume them without reading their journals. */
export class ReleasedRuns {
  /** In insertion order: the oldest are dropped first. */
  readonly #rows = new Map<string, KnownRow>()
  #records = 0

  keep(key: RunKey, row: KnownRow): void {
    this.take(key)
    this.#rows.set(runPath(key), row)
    this.#records += row.records.length
    for (const [path, { records }] of this.#rows) {
      if (this.#records <= MAX_RECORDS) break
      this.#rows.delete(path)
      this.#records -= records.length
    }
  }

  take(key: RunKey): KnownRow | undefined {
    const path = runPath(key)
    const row = this.#rows.get(path)
    this.#rows.delete(path)
    this.#records -= row?.records.length ?? 0
    return row
  }
}

/** The limit for all runs together. */
const MAX_RECORDS = 20_000
