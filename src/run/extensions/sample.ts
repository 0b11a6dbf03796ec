import { LonghaulError } from "../../contract/error.ts"
import type { Reserve } from "../../contract/event.ts"
import type { ExtensionRun, SampleAnswer, SampleRequest } from "../../contract/extension.ts"
import type { Model } from "../../contract/provider.ts"
import type { Usage } from "../../contract/result.ts"
import { newNonce } from "../../lib/id.ts"
import { AttemptCost } from "../../lib/money/attempt-cost.ts"
import { noUsage, unknownUsage } from "../../lib/usage.ts"
import { costOf } from "../../observe/price.ts"
import { boundOf, priceUnknown } from "../../settings/config/pricing.ts"
import type { OpenRun } from "../state/open-run.ts"

/** Lets an extension ask the run's model: reserved in the ledger before, metered after. Undefined: there is no model. */
export function sampler(run: OpenRun): ExtensionRun["sample"] {
  const { model } = run.target
  return model && ((request) => sample(run, model, request))
}

async function sample(run: OpenRun, model: Model, request: SampleRequest): Promise<SampleAnswer> {
  const { controls, journal, redactor } = run
  const { system, messages, maxOutputTokens } = redactor.json(jsonOf(request))
  const pricing = await priceOf(run, model)
  // A token has at least one byte.
  const inputTokens = new TextEncoder().encode(JSON.stringify([system, messages])).length
  const reserved = await reserve(run, request, boundOf({ inputTokens, outputTokens: maxOutputTokens }, pricing))
  const cost = new AttemptCost()
  try {
    const { transport } = run.config
    const conversation = model.converse({
      tools: [],
      transport,
      maxOutputTokens,
      ...(system !== undefined && { system }),
    })
    const answer = await conversation.call(messages, cost, controls.signal)
    const usage = { ...answer.usage, costUsd: answer.usage.costUsd ?? (pricing && costOf(answer.usage, pricing)) }
    reserved.settle(usage, answer.model)
    await journal.flush()
    const text = answer.parts.map((part) => (part.type === "text" ? part.text : "")).join("")
    return { text: redactor.text(text), model: answer.model }
  } catch (error) {
    const failure = LonghaulError.is(error)
      ? error
      : new LonghaulError("internal", "The model could not be asked.", { cause: error })
    const { usage, failed } = cost.metering(failure) ?? {}
    if (usage && failed) reserved.fail({ ...usage, costUsd: pricing && costOf(usage, pricing) }, failed)
    throw failure
  } finally {
    reserved.refund()
  }
}

/** Without a price a dollar limit would not apply to the request. */
async function priceOf({ config: { prices, unknownPrice }, ledger }: OpenRun, model: Model) {
  const pricing = await prices(model)
  if (pricing !== null || !ledger.limitsDollars || unknownPrice !== "refuse") return pricing
  throw priceUnknown(model.id)
}

/** The reserve of a request. It ends once: settled, or given back. */
interface Reserved {
  settle(usage: Usage, model: string): void
  /** Settles a request whose answer failed. */
  fail(usage: Usage, failed: "reported" | "unreported"): void
  refund(): void
}

/** Reserves what a request may cost. The reserve is durable before money can be spent. */
async function reserve({ ledger, controls, journal }: OpenRun, { source }: SampleRequest, bound: Reserve) {
  const metering = (usage: Usage, model?: string) =>
    ({ type: "metering", usage, source, ...(model !== undefined && { model }) }) as const
  if (!ledger.limited) {
    return {
      settle(usage, model) {
        ledger.spend(usage)
        journal.append(metering(usage, model))
      },
      fail(usage, failed) {
        journal.append({ ...metering(usage), failed })
      },
      refund() {},
    } satisfies Reserved
  }
  const held = await ledger.reserve(bound, controls.signal)
  const sample = newNonce()
  let isSettled = false
  try {
    journal.append({ type: "sample-start", sample, source, reserve: held })
    await journal.flush()
  } catch (error) {
    ledger.refund(held)
    throw error
  }
  return {
    settle(usage, model) {
      isSettled = true
      ledger.settle(held, usage)
      journal.append({ ...metering(usage, model), sample })
    },
    fail(usage, failed) {
      isSettled = true
      ledger.settle(held, failed === "reported" ? usage : unknownUsage)
      journal.append({ ...metering(usage), sample, failed, ...(failed === "unreported" && { reserve: held }) })
    },
    refund() {
      ledger.refund(held)
      // An answer that was stopped on its way may have to be paid for: its reserve stays on record, as that of a turn does.
      if (!isSettled && !controls.signal.aborted) journal.append({ ...metering(noUsage), sample })
    },
  } satisfies Reserved
}

function jsonOf({ system, messages, maxOutputTokens }: SampleRequest): Omit<SampleRequest, "source"> {
  return { messages, maxOutputTokens, ...(system !== undefined && { system }) }
}
