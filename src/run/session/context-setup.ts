import type { ContextSetup } from "../../contract/compaction.ts"
import type { Model } from "../../contract/provider.ts"
import { lookUpContextTokens } from "../../observe/price.ts"
import type { OpenRun } from "../state/open-run.ts"
import type { Prepared } from "./prepare.ts"

/** The settings with which the backend shortens the conversation. Undefined: it must not, or does not send it. */
export async function contextSetup(run: OpenRun, prepared: Prepared): Promise<ContextSetup | undefined> {
  const { input, target, projection, redactor } = run
  const { compaction } = input
  const { history, resume } = target.backend.capabilities
  // A backend that stores sessions has its own idea of the conversation.
  if (compaction === false || history !== "messages" || resume !== "history") return undefined
  const { at = 0.8, keep, instructions, model } = compaction
  const known = compaction.window ?? (target.model && (await windowOf(target.model)))
  const { recent, isAsked, accepted, learnedWindow = Number.POSITIVE_INFINITY } = projection.context
  return {
    at,
    ...(keep !== undefined && { keep }),
    window: Math.min(known ?? ASSUMED_WINDOW, learnedWindow),
    isAssumed: known === undefined && learnedWindow === Number.POSITIVE_INFINITY,
    ...(model && { model }),
    // The instructions of a resumed run were recorded with references.
    ...(instructions !== undefined && { instructions: redactor.again(instructions) }),
    said: prepared.said,
    ...(prepared.measured && { measured: prepared.measured }),
    accepted,
    recent,
    isAsked,
  }
}

/** The model's own figure, else the table's. */
async function windowOf(model: Model): Promise<number | undefined> {
  return model.contextTokens ?? (await lookUpContextTokens(model.provider, model.id)) ?? undefined
}

const ASSUMED_WINDOW = 128_000
