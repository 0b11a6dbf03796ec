import { LonghaulError } from "../../contract/error.ts"
import type { Message } from "../../contract/message.ts"
import type { Answer, AnswerSink, Conversation, ConversationSetup, Model } from "../../contract/provider.ts"
import { onAbort } from "../../lib/abort.ts"
import { publicAddress } from "../../lib/http/credentials.ts"
import { checkArgument, checkShape } from "../../lib/schema/shape.ts"
import { defaultDeadlines } from "../deadline.ts"
import { AiSdkReader } from "./answer.ts"
import { addressOf, modelCredentials } from "./credentials.ts"
import { failureOf, requestIdOf, type Source } from "./failure.ts"
import { type Guard, guarded } from "./guard.ts"
import type { AiSdkModel, AiSdkStream } from "./model.ts"
import { type AiSdkOptions, optionsShape } from "./options.ts"
import { fixedCall, promptOf, wordsV3, wordsV4 } from "./request.ts"

export type { AiSdkModel, AiSdkOptions }

/**
 * Any language model of the Vercel AI SDK, specification v3 or v4. Requests go through the model's own `fetch`;
 * deadlines, retries and errors are ours.
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  checkSpecification(model)
  checkShape<AiSdkOptions>("fromAiSdk", options, optionsShape)
  checkArgument("options.providerOptions", options.providerOptions ?? {}, "json")
  const [provider = model.provider] = model.provider.split(".")
  const address = addressOf(model)
  return {
    provider,
    id: model.modelId,
    ...(options.maxOutputTokens !== undefined && { maxOutputTokens: options.maxOutputTokens }),
    ...(address !== undefined && { endpoint: { url: publicAddress(address) } }),
    credentials: () => modelCredentials(model, options),
    converse: (setup) => conversation(model, provider, options, setup),
  }
}

function conversation(
  model: AiSdkModel,
  provider: string,
  options: AiSdkOptions,
  setup: ConversationSetup,
): Conversation {
  const deadlines = { ...defaultDeadlines, ...options.deadlines }
  const ask = asker(model, `${provider}:${model.modelId}`, options, setup)
  const keyName = keyNames[provider] ?? `the ${provider} package's own variable (usually one that ends in _API_KEY)`
  return {
    call(messages, sink, signal) {
      const source: Source = { requestId: undefined, model: model.modelId, keyName }
      return guarded(deadlines, signal, async (guard) => {
        try {
          return await readAnswer(await ask(messages, guard.signal), sink, source, guard)
        } catch (error) {
          throw failureOf(error, source)
        }
      })
    },
  }
}

/** One call in the format of the model's specification. */
function asker(
  model: AiSdkModel,
  origin: string,
  options: AiSdkOptions,
  setup: ConversationSetup,
): (messages: readonly Message[], abortSignal: AbortSignal) => PromiseLike<AiSdkStream> {
  const fixed = fixedCall(options, setup)
  const { system, effort } = setup
  // Chat Completions of any provider: its packages would write base64 into the result's text.
  const textResults = model.provider.endsWith(".chat")
  if (model.specificationVersion === "v3") {
    return (messages, abortSignal) =>
      model.doStream({
        ...fixed,
        prompt: promptOf(messages, { system, origin, words: wordsV3, textResults }),
        abortSignal,
      })
  }
  return (messages, abortSignal) =>
    model.doStream({
      ...fixed,
      ...(effort !== undefined && { reasoning: effort }),
      prompt: promptOf(messages, { system, origin, words: wordsV4, textResults }),
      abortSignal,
    })
}

async function readAnswer(
  { stream, response }: AiSdkStream,
  sink: AnswerSink,
  source: Source,
  guard: Guard,
): Promise<Answer> {
  source.requestId = requestIdOf(response?.headers)
  const reader = new AiSdkReader(sink, source)
  const parts = stream.getReader()
  onAbort(guard.signal, () => void parts.cancel().catch(() => {}))
  for (let part = await parts.read(); !part.done && !guard.signal.aborted; part = await parts.read()) {
    // The package generates this itself, whatever the provider does.
    if (part.value.type !== "stream-start") guard.received()
    if (part.value.type !== "stream-start" && part.value.type !== "error") sink.accepted?.()
    reader.push(part.value)
  }
  return reader.finish()
}

function checkSpecification(model: AiSdkModel): void {
  // Widened: a caller without types may give none.
  const version: unknown = (model as AiSdkModel | null | undefined)?.specificationVersion
  if (version === "v3" || version === "v4") return
  const what =
    version === undefined ? "This is not an AI SDK language model" : `Specification ${version} is not supported`
  throw new LonghaulError("config_invalid", `${what}: fromAiSdk accepts models of specification v3 or v4.`, {
    fix: 'Pass a model such as openai("gpt-5") from a package version for AI SDK 6 or 7.',
  })
}

const keyNames: Readonly<Record<string, string>> = {
  anthropic: "ANTHROPIC_API_KEY",
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
  openai: "OPENAI_API_KEY",
}
