import { LonghaulError } from "../../contract/error.ts"
import type { Answer, Model } from "../../contract/provider.ts"
import type { PiModel, PiModules } from "./shapes.ts"
import { toFailure, toPiMessages, toStopReason, toUsage } from "./translate.ts"

export interface Summariser {
  readonly modules: PiModules
  readonly model: PiModel
  apiKey(provider: string): Promise<string | undefined>
}

/** Pi's client of a model as a model of the runtime, for summaries: it takes text, and no tools. */
export function summaryModel({ modules, model, apiKey }: Summariser): Model {
  return {
    provider: model.provider,
    id: model.id,
    converse: ({ system, maxOutputTokens }) => ({
      async call(messages, _sink, signal): Promise<Answer> {
        const key = await apiKey(model.provider)
        let status: number | undefined
        const answer = await modules.ai
          .streamSimple(
            model,
            { messages: toPiMessages(messages, model), systemPrompt: system },
            {
              signal,
              apiKey: key,
              maxTokens: maxOutputTokens,
              onResponse: (response) => {
                status = response.status
              },
            },
          )
          .result()
        if (answer.stopReason === "error" || answer.stopReason === "aborted") {
          const failure = toFailure(answer.errorMessage, status)
          throw new LonghaulError(failure.code, failure.message, failure)
        }
        const parts = answer.content.flatMap((part) => (part.type === "text" ? [part] : []))
        return {
          parts,
          stopReason: toStopReason(answer.stopReason),
          usage: toUsage(answer.usage),
          model: answer.responseModel ?? answer.model,
        }
      },
    }),
  }
}
