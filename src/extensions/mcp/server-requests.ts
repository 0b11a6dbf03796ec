import type { Client, CreateMessageRequest, ElicitRequest } from "@modelcontextprotocol/client"
import { LonghaulError } from "../../contract/error.ts"
import type { ExtensionRun } from "../../contract/extension.ts"
import type { Json, JsonObject, JsonSchema } from "../../contract/json.ts"
import type { McpServer } from "../../contract/mcp.ts"
import type { Message } from "../../contract/message.ts"
import { ToolError } from "../../contract/tool.ts"
import { orAborted, withTimeout } from "../../lib/abort.ts"
import type { Served } from "./connection.ts"
import { contentParts } from "./content.ts"
import { visible } from "./definitions.ts"
import {
  DEFAULT_SAMPLING_MAX_DEPTH,
  type Elicitation,
  type RequestHandlers,
  type SamplingAnswer,
  type SamplingRequest,
} from "./handlers.ts"

/** The requests that a server may send to the run. Only these are declared to it. */
export function serverRequests(
  run: ExtensionRun,
  name: string,
  server: McpServer,
  { samplingHandler, elicit }: RequestHandlers,
): Served {
  const { runId, signal } = run
  const hasFiles = run.env.files !== undefined
  const roots = { roots: [{ uri: fileUrl(run.cwd) }] }
  let depth = 0
  async function sample(request: SamplingRequest): Promise<SamplingAnswer> {
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
      if (hasFiles) client.setRequestHandler("roots/list", () => roots)
      if (server.allowSampling) {
        client.setRequestHandler("sampling/createMessage", async ({ params }) =>
          written(await sample(readSampling(params))),
        )
      }
      if (elicit) {
        client.setRequestHandler("elicitation/create", async ({ params }) => {
          // A person may never answer: the server must not wait indefinitely.
          const given = await withTimeout(ELICIT_MS, signal, (limit) =>
            orAborted(elicit(readElicitation(params), { serverName: name, runId, signal: limit }), limit),
          )
          const answer = given ?? { action: "cancel" }
          if (answer.action !== "accept") return answer
          // Checked against the form by the protocol layer.
          return { action: "accept", content: { ...answer.content } as Record<string, string> }
        })
      }
    },
    async answer(method, params) {
      if (method === "roots/list" && hasFiles) return roots
      if (method === "sampling/createMessage" && server.allowSampling) return sampleFor(name, params, sample)
      throw new ToolError(
        "denied",
        `The MCP server ${name} requested ${visible(method).slice(0, 100)}, which is not permitted.`,
      )
    },
  }
}

/** For a request that came with a result, which the protocol layer has not checked. */
async function sampleFor(
  name: string,
  params: Json | undefined,
  sample: (request: SamplingRequest) => Promise<SamplingAnswer>,
): Promise<JsonObject> {
  const { isSpecType } = await import("@modelcontextprotocol/client")
  if (!isSpecType.CreateMessageRequestParams(params)) {
    throw new ToolError("io", `The MCP server ${name} requested an answer of the model in an unknown form.`)
  }
  try {
    return written(await sample(readSampling(params)))
  } catch (error) {
    throw LonghaulError.is(error) ? new ToolError("denied", `The MCP server ${name}: ${error.message}`) : error
  }
}

/** The run's own model answers, within the run's budget. */
async function ownSample(run: ExtensionRun, name: string, request: SamplingRequest): Promise<SamplingAnswer> {
  if (!run.sample) throw refused("the run's backend has no model that it could ask")
  const { system, messages, maxOutputTokens } = request
  return run.sample({
    source: `mcp:${name}`,
    messages: messages.map(messageOf),
    maxOutputTokens: Math.min(maxOutputTokens, MAX_SAMPLED_TOKENS),
    ...(system !== undefined && { system }),
  })
}

function messageOf({ role, content }: SamplingRequest["messages"][number]): Message {
  if (role === "user") return { role, content }
  const text = content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n")
  return { role: "assistant", content: [{ type: "text", text }] }
}

function readSampling({ systemPrompt, messages, maxTokens }: CreateMessageRequest["params"]): SamplingRequest {
  return {
    system: systemPrompt,
    maxOutputTokens: maxTokens,
    messages: messages.map(({ role, content }) => ({
      role,
      content: [content].flat().flatMap((block) => {
        if (block.type === "text" || block.type === "image" || block.type === "audio") return contentParts(block)
        throw refused("tool calls in the request")
      }),
    })),
  }
}

function written({ text, model }: SamplingAnswer) {
  return { model, role: "assistant", content: { type: "text", text }, stopReason: "endTurn" } as const
}

function readElicitation(params: ElicitRequest["params"]): Elicitation {
  if ("url" in params) return { message: params.message, url: params.url }
  // Came as JSON.
  return { message: params.message, schema: params.requestedSchema as unknown as JsonSchema }
}

function refused(reason: string): LonghaulError {
  return new LonghaulError("policy_denied", `The request for an answer of the model is refused: ${reason}.`)
}

function fileUrl(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`
}

const ELICIT_MS = 300_000
const MAX_SAMPLED_TOKENS = 4_096
