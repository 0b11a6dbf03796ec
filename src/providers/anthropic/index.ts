import type { Model } from "../../contract/provider.ts"
import { credentialsOf, publicAddress } from "../../lib/http/credentials.ts"
import { WireConversation } from "../converse.ts"
import { checkProviderOptions } from "../options.ts"
import { AnthropicReader } from "./answer.ts"
import { failureOf } from "./failure.ts"
import { type AnthropicOptions, ownShape } from "./options.ts"
import { bodyShape, DEFAULT_OUTPUT_TOKENS, enforcesSchema } from "./request.ts"

export type { ProviderOptions, StreamDeadlines } from "../options.ts"
export type { AnthropicOptions }

/** A model behind the Anthropic Messages API or a compatible server; `baseUrl` without the version. */
export function anthropic(options: AnthropicOptions): Model {
  checkProviderOptions("anthropic", options, ownShape)
  const url = `${(options.baseUrl ?? "https://api.anthropic.com").replace(/\/+$/, "")}/v1/messages`
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    "anthropic-version": "2023-06-01",
    ...(options.apiKey !== undefined && { "x-api-key": options.apiKey }),
    ...(options.authToken !== undefined && { authorization: `Bearer ${options.authToken}` }),
    ...options.headers,
  }
  return {
    provider: "anthropic",
    id: options.model,
    enforcesSchema: enforcesSchema(options.model),
    maxOutputTokens: options.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS,
    endpoint: { url: publicAddress(url) },
    credentials: () => credentialsOf(options.baseUrl ?? url, headers),
    converse: (setup) =>
      new WireConversation(
        {
          url,
          headers,
          shape: bodyShape(options, setup),
          requestIdHeader: "request-id",
          reader: (parts) => new AnthropicReader(parts),
          refused: failureOf,
        },
        options,
        setup.transport,
      ),
  }
}
