import type { Model } from "../../contract/provider.ts"
import { credentialsOf, publicAddress } from "../../lib/http/credentials.ts"
import { WireConversation } from "../converse.ts"
import { checkProviderOptions } from "../options.ts"
import { GoogleReader } from "./answer.ts"
import { failureOf, REQUEST_ID_HEADER } from "./failure.ts"
import { familyOf } from "./models.ts"
import { type GoogleOptions, ownShape } from "./options.ts"
import { bodyShape } from "./request.ts"

export type { ProviderOptions, StreamDeadlines } from "../options.ts"
export type { GoogleOptions }

/** A model behind the Gemini API or a compatible server; `baseUrl` without the version. */
export function google(options: GoogleOptions): Model {
  checkProviderOptions("google", options, ownShape)
  const baseUrl = (options.baseUrl ?? "https://generativelanguage.googleapis.com").replace(/\/+$/, "")
  const family = familyOf(options.model)
  const maxOutputTokens = options.maxOutputTokens ?? family.maxOutputTokens
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    // Never in the URL: URLs end up in logs.
    ...(options.apiKey !== undefined && { "x-goog-api-key": options.apiKey }),
    ...options.headers,
  }
  return {
    provider: "google",
    id: options.model,
    enforcesSchema: family.combinesSchemaAndTools,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    endpoint: { url: publicAddress(baseUrl) },
    credentials: () => credentialsOf(baseUrl, headers),
    converse: (setup) =>
      new WireConversation(
        {
          url: `${baseUrl}/v1beta/models/${options.model}:streamGenerateContent?alt=sse`,
          headers,
          shape: bodyShape(options, setup),
          requestIdHeader: REQUEST_ID_HEADER,
          reader: (parts) => new GoogleReader(parts, options.model),
          refused: failureOf,
        },
        options,
        setup.transport,
      ),
  }
}
