import type {
  Client,
  CreateMessageRequest,
  CreateMessageResult,
  ElicitRequest,
  ElicitResult,
} from "@modelcontextprotocol/client"
import { LonghaulError } from "../../contract/error.ts"
import type { ExtensionRun, SampleRequest } from "../../contract/extension.ts"
import type { McpServer } from "../../contract/mcp.ts"
import type { Message } from "../../contract/message.ts"
import { orAborted } from "../../lib/abort.ts"
import type { Served } from "./connection.ts"
import { contentParts } from "./content.ts"

/** How often a request for an answer of the model may be made while another one of the same server is being answered. */
export const DEFAULT_SAMPLING_MAX_DEPTH = 3

/** A server's request for an answer of a model. */
export type SamplingRequest = CreateMessageRequest["params"]
export type SamplingResult = CreateMessageResult
/** A server's question to a person. */
export type Elicitation = ElicitRequest["params"]
export type ElicitationAnswer = ElicitResult

export interface RequestHandlers {
  /** Answers the requests of servers that may sample. Default: the run's own model. */
  readonly samplingHandler?: (
    request: SamplingRequest,
    context: { readonly serverName: string; readonly depth: number; readonly runId: string },
  ) => SamplingResult | Promise<SamplingResult>
  /** Asks a person on behalf of a server. Default: servers are told that nobody can be asked. */
  readonly elicit?: (
    request: Elicitation,
    context: { readonly serverName: string; readonly runId: string; readonly signal: AbortSignal },
  ) => ElicitationAnswer | Promise<ElicitationAnswer>
}

/** What a server may request of the run. Only what it may request is declared to it. */
export function serverRequests(
  run: ExtensionRun,
  name: string,
  server: McpServer,
  { samplingHandler, elicit }: RequestHandlers,
): Served {
  const { runId, signal } = run
  const hasFiles = run.env.files !== undefined
  let depth = 0
  async function sample(request: SamplingRequest): Promise<SamplingResult> {
    depth++
    try {
      if (samplingHandler) return await samplingHandler(request, { serverName: name, depth, runId })
      if (depth > DEFAULT_SAMPLING_MAX_DEPTH) throw refused(`more than ${DEFAULT_SAMPLING_MAX_DEPTH} nested requests`)
      return await ownSample(run, name, request)
    } finally {
      depth--
    }
  }
  return {
    capabilities: {
      ...(hasFiles && { roots: {} }),
      ...(server.allowSampling && { sampling: {} }),
      ...(elicit && { elicitation: { form: { applyDefaults: true } } }),
    },
    register(client: Client) {
      if (hasFiles) client.setRequestHandler("roots/list", () => ({ roots: [{ uri: fileUrl(run.cwd) }] }))
      if (server.allowSampling) client.setRequestHandler("sampling/createMessage", ({ params }) => sample(params))
      if (elicit) {
        client.setRequestHandler("elicitation/create", async ({ params }) => {
          // A person may never answer: the server must not wait for ever.
          const limit = AbortSignal.any([signal, AbortSignal.timeout(ELICIT_MS)])
          const answer = await orAborted(elicit(params, { serverName: name, runId, signal: limit }), limit)
          return answer ?? { action: "cancel" }
        })
      }
    },
  }
}

/** The run's own model answers, within the run's budget. */
async function ownSample(run: ExtensionRun, name: string, request: SamplingRequest): Promise<SamplingResult> {
  if (!run.sample) throw refused("the run's backend has no model that it could ask")
  const { systemPrompt, messages, maxTokens } = request
  const asked: SampleRequest = {
    source: `mcp:${name}`,
    messages: messages.map(messageOf),
    maxOutputTokens: Math.min(maxTokens, MOST_SAMPLED_TOKENS),
    ...(systemPrompt !== undefined && { system: systemPrompt }),
  }
  const { text, model } = await run.sample(asked)
  return { model, role: "assistant", content: { type: "text", text }, stopReason: "endTurn" }
}

function messageOf({ role, content }: SamplingRequest["messages"][number]): Message {
  const parts = [content].flat().flatMap((block) => {
    if (block.type === "text" || block.type === "image" || block.type === "audio") return contentParts(block)
    throw refused("tool calls in the request")
  })
  if (role === "user") return { role, content: parts }
  const text = parts.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n")
  return { role: "assistant", content: [{ type: "text", text }] }
}

function refused(reason: string): LonghaulError {
  return new LonghaulError("policy_denied", `The request for an answer of the model is refused: ${reason}.`)
}

function fileUrl(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`
}

const ELICIT_MS = 300_000
const MOST_SAMPLED_TOKENS = 4_096
