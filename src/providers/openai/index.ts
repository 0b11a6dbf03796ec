import type { ConversationSetup, Model } from "../../contract/provider.ts"
import { credentialsOf, publicAddress } from "../../lib/http/credentials.ts"
import { type Wire, WireConversation } from "../converse.ts"
import { ChatReader } from "./chat-answer.ts"
import { chatShape } from "./chat-request.ts"
import { failureOf, REQUEST_ID_HEADER } from "./failure.ts"
import { completeOptions, type OpenAiOptions, type OpenAiSetup } from "./options.ts"
import { ResponsesReader } from "./responses-answer.ts"
import { responsesShape } from "./responses-request.ts"

export type { ProviderOptions, StreamDeadlines } from "../options.ts"
export type { OpenAiOptions }

/** A model behind OpenAI or a server that is compatible with one of its two protocols; `baseUrl` with the version. */
export function openai(options: OpenAiOptions): Model {
  const complete = completeOptions(options)
  const { provider, model, structuredOutput, maxOutputTokens } = complete
  const headers = headersOf(complete)
  return {
    provider,
    id: model,
    // Other servers may accept a schema and ignore it: the model gets it in text as well.
    enforcesSchema: structuredOutput && complete.isOpenAi,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    endpoint: { url: publicAddress(complete.baseUrl) },
    credentials: () => credentialsOf(complete.baseUrl, headers),
    converse: (setup) => new WireConversation(wireOf(complete, headers, setup), options, setup.transport),
  }
}

function headersOf({ apiKey, organization, project, headers }: OpenAiSetup): Readonly<Record<string, string>> {
  return {
    "content-type": "application/json",
    accept: "text/event-stream",
    // Local servers need none.
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(organization !== undefined && { "openai-organization": organization }),
    ...(project !== undefined && { "openai-project": project }),
    ...headers,
  }
}

function wireOf(options: OpenAiSetup, headers: Readonly<Record<string, string>>, setup: ConversationSetup): Wire {
  const { api, baseUrl, keyName } = options
  const shared: Pick<Wire, "headers" | "requestIdHeader" | "refused"> = {
    headers,
    requestIdHeader: REQUEST_ID_HEADER,
    refused: (refusal) => failureOf(refusal, keyName),
  }
  return api === "chat"
    ? {
        ...shared,
        url: `${baseUrl}/chat/completions`,
        shape: chatShape(options, setup),
        reader: (parts) => new ChatReader(parts),
      }
    : {
        ...shared,
        url: `${baseUrl}/responses`,
        shape: responsesShape(options, setup),
        reader: (parts) => new ResponsesReader(parts),
      }
}
