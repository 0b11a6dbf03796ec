import type { Backend, OpenRequest, Stop, TurnInput } from "../contract/backend.ts"
import { LonghaulError } from "../contract/error.ts"
import type { Pricing } from "../contract/pricing.ts"
import type { ResolvedConfig } from "./config.ts"
import { SessionHost } from "./host.ts"
import type { OpenRun } from "./open-run.ts"
import { redactFailure } from "./secrets.ts"

/** Runs a backend session until it stops, and passes interrupts and steering messages to it. */
export async function drive(
  config: ResolvedConfig,
  run: OpenRun,
  backend: Backend,
  { request, turn }: { request: OpenRequest; turn: TurnInput },
): Promise<Stop> {
  const { controls, journal, hooks } = run
  try {
    if (hooks.has("preRun")) await hooks.call("preRun", (hook, hooked) => hook.preRun?.(hooked))
    const host = new SessionHost(config, run, await pricingOf(config, run))
    const session = await backend.open(request, { transport: config.transport })
    try {
      journal.append({ type: "session", ref: session.ref })
      controls.onStop((mode) => {
        if (controls.cause?.kind === "cancel" && !controls.cause.onRecord) journal.append({ type: "interrupt", mode })
        session.interrupt(mode)
      })
      controls.onSteer((text) => session.steer(text))
      return redactStop(run, await session.run(turn, host))
    } finally {
      host.close()
      await session.close()
    }
  } catch (error) {
    // A backend must not throw. If it does, it has crashed, unless it throws a LonghaulError with the reason.
    return redactStop(run, { reason: "failed", failure: asError(backend, error).toJSON() })
  }
}

/** The price of the model. A dollar limit has no effect without one, so it is rejected or reported. */
async function pricingOf(config: ResolvedConfig, { input, journal }: OpenRun): Promise<Pricing | null> {
  const { model, limits } = input
  const pricing = model ? await config.prices(model) : null
  if (pricing !== null || limits.usd === undefined) return pricing
  const message = `limits.usd is set, but the price of ${model ? `${model.provider}:${model.id}` : "the model"} is unknown.`
  if (config.unknownPrice === "refuse") {
    throw new LonghaulError("config_invalid", message, {
      fix: 'Return its price from resolvePricing, or set unknownPrice: "warn" to run without this limit.',
    })
  }
  journal.append({ type: "warning", code: "price_unknown", message })
  return null
}

/** The text of a finished run is redacted where it is used, which most runs do not. */
function redactStop({ redactor }: OpenRun, stop: Stop): Stop {
  return stop.reason === "failed" ? { ...stop, failure: redactFailure(redactor, stop.failure) } : stop
}

function asError(backend: Backend, error: unknown): LonghaulError {
  if (LonghaulError.is(error)) return error
  return new LonghaulError("backend_crashed", `The ${backend.name} backend failed unexpectedly.`, { cause: error })
}
