import type { Conversation, Model } from "../../contract/provider.ts"
import { defaultDeadlines, WatchedTransport } from "../../lib/deadline.ts"
import { fetchTransport } from "../../lib/fetch-transport.ts"
import { BodyBuffer } from "../body-buffer.ts"
import { AnswerAssembler } from "./answer.ts"
import { failureOf } from "./failure.ts"
import type { AnthropicOptions } from "./options.ts"
import { bodyShape } from "./request.ts"

export type { AnthropicOptions }

/** A model behind the Anthropic Messages API or any server that speaks it. */
export function anthropic(options: AnthropicOptions): Model {
  const url = `${(options.baseUrl ?? "https://api.anthropic.com").replace(/\/+$/, "")}/v1/messages`
  const deadlines = { ...defaultDeadlines, ...options.deadlines }
  const ownTransport = options.fetch && fetchTransport(options.fetch)
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
    converse(setup): Conversation {
      const transport = new WatchedTransport(ownTransport ?? setup.transport, deadlines)
      const buffer = new BodyBuffer(bodyShape(options, setup))
      return {
        async call(messages, sink, signal) {
          const answer = new AnswerAssembler(sink)
          let refusal: RefusedRequest | undefined
          const body = buffer.body(messages)
          await transport.stream(
            { url, headers, body, signal },
            {
              head(status, header) {
                answer.requestId = header("request-id")
                if (status !== 200) refusal = { status, header, decoder: new TextDecoder(), text: "" }
              },
              chunk(bytes) {
                if (refusal === undefined) answer.push(bytes)
                else if (refusal.text.length < LONGEST_REFUSAL)
                  refusal.text += refusal.decoder.decode(bytes, { stream: true })
              },
            },
          )
          if (refusal) throw failureOf(refusal.status, refusal.text, refusal.header)
          return answer.finish()
        },
      }
    },
  }
}

interface RefusedRequest {
  readonly status: number
  readonly header: (name: string) => string | undefined
  readonly decoder: InstanceType<typeof TextDecoder>
  text: string
}

const LONGEST_REFUSAL = 64 * 1024
