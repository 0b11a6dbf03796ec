import { LonghaulError } from "../../contract/error.ts"
import type { ExtensionRun, SampleAnswer, SampleRequest } from "../../contract/extension.ts"
import type { Model } from "../../contract/provider.ts"
import { costOf } from "../../observe/price.ts"
import type { ResolvedConfig } from "../config.ts"
import type { OpenRun } from "../open-run.ts"
import { boundOf } from "../pricing.ts"

/** Lets an extension ask the run's model: reserved in the ledger before, metered after. Undefined: there is no model. */
export function sampler(config: ResolvedConfig, run: OpenRun): ExtensionRun["sample"] {
  const { model } = run.target
  return model && ((request) => sample(config, run, model, request))
}

async function sample(
  config: ResolvedConfig,
  run: OpenRun,
  model: Model,
  request: SampleRequest,
): Promise<SampleAnswer> {
  const { ledger, controls, journal, redactor } = run
  const { system, messages, maxOutputTokens } = redactor.json(jsonOf(request))
  const pricing = await config.prices(model)
  // A token has at least one byte.
  const inputTokens = new TextEncoder().encode(JSON.stringify([system, messages])).length
  const bound = boundOf({ inputTokens, outputTokens: maxOutputTokens }, pricing)
  const reserve = ledger.limited ? await ledger.reserve(bound, controls.signal) : undefined
  try {
    const { transport } = config
    const conversation = model.converse({
      tools: [],
      transport,
      maxOutputTokens,
      ...(system !== undefined && { system }),
    })
    const answer = await conversation.call(messages, {}, controls.signal)
    const usage = { ...answer.usage, costUsd: answer.usage.costUsd ?? (pricing && costOf(answer.usage, pricing)) }
    if (reserve) ledger.settle(reserve, usage)
    else ledger.spend(usage)
    journal.append({ type: "metering", usage, model: answer.model, source: request.source })
    await journal.flush()
    const text = answer.parts.map((part) => (part.type === "text" ? part.text : "")).join("")
    return { text: redactor.text(text), model: answer.model }
  } catch (error) {
    if (LonghaulError.is(error)) throw error
    throw new LonghaulError("internal", "The model could not be asked.", { cause: error })
  } finally {
    if (reserve) ledger.refund(reserve)
  }
}

function jsonOf({ system, messages, maxOutputTokens }: SampleRequest): Omit<SampleRequest, "source"> {
  return { messages, maxOutputTokens, ...(system !== undefined && { system }) }
}
