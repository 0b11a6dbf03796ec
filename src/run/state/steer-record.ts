import type { RecordBody } from "../../contract/event.ts"
import type { OpenRun } from "./open-run.ts"

/** The record of a message that the model receives now, with where it comes from: so it is delivered once. */
export function steerRecord(
  { pendingSteers, controls }: Pick<OpenRun, "pendingSteers" | "controls">,
  text: string,
): RecordBody & { readonly type: "steer" } {
  controls.read()
  const at = pendingSteers.findIndex((pending) => pending.text === text)
  const [pending] = at < 0 ? [] : pendingSteers.splice(at, 1)
  return { type: "steer", text, ...pending }
}
