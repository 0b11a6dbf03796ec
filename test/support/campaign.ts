import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type CampaignReport, runCampaign } from "../../src/cli/crashtest/campaign.ts"
import { removeFolder } from "./remove-folder.ts"
import { WATCHDOG_MS } from "./watchdog.ts"

export const allCrashes = process.env.LONGHAUL_ALL_CRASHES === "1"
export const timeout = allCrashes ? 3_600_000 : WATCHDOG_MS
export const program = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

/** What went wrong in a campaign. Prints its counts. */
export function damageOf(what: string, { store, points, operations, total, violations }: CampaignReport): Damage {
  const { kills, runs, resumed, flagged, lost, duplicated, unloadable } = total
  const found = `${lost} lost, ${duplicated} duplicated, ${unloadable} unloadable, ${violations.length} violations`
  const counts = `${kills} kills of ${runs} runs, ${resumed} resumed, ${flagged} flagged`
  console.log(`${what} on ${store.replace(/:.*/, "")}, ${operations} operations, ${points} points: ${counts}; ${found}`)
  return { notResumed: runs - resumed, lost, duplicated, unloadable, violations }
}

export interface Damage {
  readonly notResumed: number
  readonly lost: number
  readonly duplicated: number
  readonly unloadable: number
  readonly violations: readonly string[]
}

export const noDamage: Damage = { notResumed: 0, lost: 0, duplicated: 0, unloadable: 0, violations: [] }

export interface WorkloadKills {
  readonly store: "fs" | "create-only"
  /** How many in the whole proof. */
  readonly kills: number
  /** How many points are tried otherwise. */
  readonly sample: number
}

/** Kills runs of a workload, which is the source of a module. */
export async function killRuns(
  what: string,
  workload: string,
  { store, kills, sample }: WorkloadKills,
): Promise<Damage> {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-campaign-"))
  try {
    const tools = join(folder, "workload.mjs")
    writeFileSync(tools, workload)
    const chosen = allCrashes ? { kills } : { kills: 1, sample }
    return damageOf(what, await runCampaign({ program, store, folder, tools, seed: 1, ...chosen }))
  } finally {
    await removeFolder(folder)
  }
}
