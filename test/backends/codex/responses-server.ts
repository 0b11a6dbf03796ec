import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Json, JsonObject } from "../../../src/contract/json.ts"

/** A model server whose answers are output items of the Responses API: Codex has kinds of calls that the simulator has not. */
export interface ResponsesServer {
  readonly url: string
  readonly requests: readonly { readonly input: readonly JsonObject[]; readonly tools: readonly JsonObject[] }[]
  close(): Promise<void>
}

export async function serveResponses(
  answer: (input: readonly JsonObject[], index: number) => readonly JsonObject[],
): Promise<ResponsesServer> {
  const requests: ResponsesServer["requests"][number][] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as ResponsesServer["requests"][number]
    const items = answer(body.input, requests.push(body) - 1)
    response.writeHead(200, { "content-type": "text/event-stream" })
    const send = (type: string, data: JsonObject) =>
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    const id = `resp_${requests.length}`
    send("response.created", { response: { id } })
    for (const [index, item] of items.entries()) send("response.output_item.done", { output_index: index, item })
    send("response.completed", { response: { id, output: items as Json, usage } })
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function message(text: string): JsonObject {
  return { type: "message", id: "m", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] }
}

export function functionCall(id: string, name: string, args: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(args), ...more }
}

export function patchCall(id: string, input: string): JsonObject {
  return { type: "custom_tool_call", id: `ct_${id}`, call_id: id, name: "apply_patch", input }
}

/** The outputs in a request, as id and text. */
export function outputsIn(input: readonly JsonObject[]): readonly (readonly [Json, string])[] {
  return input.flatMap(({ type, call_id = null, output = "" }) =>
    String(type).endsWith("_output")
      ? [[call_id, typeof output === "string" ? output : JSON.stringify(output)] as const]
      : [],
  )
}

const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 20 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 110,
}
