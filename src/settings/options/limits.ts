import { LonghaulError } from "../../contract/error.ts"
import type { Limits } from "../../contract/result.ts"
import { MAX_LIMIT, shown, wholeNumber } from "../../lib/known-keys.ts"

export function resolveLimits(given: Partial<Limits> | undefined, base: Limits): Limits {
  if (given === undefined) return base
  checkLimits(given, "limits")
  return { ...base, ...given }
}

/** Throws `config_invalid` for a limit that cannot be reached, or is reached at once. */
export function checkLimits(given: Partial<Limits>, path: string): void {
  for (const [name, value] of Object.entries(given)) {
    if (name === "usd") checkUsd(value, path)
    else wholeNumber(`${path}.${name}`, value, name === "tokens" ? Number.MAX_SAFE_INTEGER : MAX_LIMIT)
  }
}

function checkUsd(usd: number, path: string): void {
  if (Number.isFinite(usd) && usd > 0) return
  throw new LonghaulError("config_invalid", `${path}.usd is ${shown(usd)}.`, {
    fix: `Give ${path}.usd as a number of dollars above 0.`,
  })
}
