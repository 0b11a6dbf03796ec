import type { OpenRun } from "../state/open-run.ts"

/** Records the messages that the model never received, for the next session or the process that resumes the run. */
export function recordUndelivered({ controls, journal, redactor }: OpenRun): void {
  for (const message of controls.steers.disconnect()) journal.append(redactor.again(message))
}
