import type { BackendDeadlines } from "../../contract/run.ts"
import { MAX_LIMIT, wholeNumber } from "../../lib/known-keys.ts"

const defaultDeadlines: BackendDeadlines = { openMs: 60_000, replyMs: 30_000, stopMs: 3_000, idleMs: 600_000 }

export function resolveDeadlines(given: Partial<BackendDeadlines> | undefined): BackendDeadlines {
  if (given === undefined) return defaultDeadlines
  for (const [name, value] of Object.entries(given)) wholeNumber(`deadlines.${name}`, value, MAX_LIMIT)
  return { ...defaultDeadlines, ...given }
}
