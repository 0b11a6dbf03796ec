// The scene's server over SSE, as revision 2024-11-05 has it: one stream with the answers, and POST requests.
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { answers } from "./answers.mjs"

/** `refuse(request)` returns a status to refuse a request; `cut(message)` ends all streams; `endpoint` is named instead of its own. */
export async function serveSse(settings = {}) {
  const scene = answers(settings)
  const streams = new Map()
  const requests = []
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const piece of request) body += piece
    const message = body === "" ? undefined : JSON.parse(body)
    requests.push({ method: request.method, headers: request.headers, message })
    const status = settings.refuse?.(request, message)
    if (status) return response.writeHead(status).end()
    if (request.method === "GET") {
      const id = randomUUID()
      streams.set(id, response)
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(`event: endpoint\ndata: ${settings.endpoint ?? `/message?session=${id}`}\n\n`)
      return
    }
    const stream = streams.get(new URL(request.url, "http://localhost").searchParams.get("session"))
    if (!stream) return response.writeHead(404).end()
    response.writeHead(202).end()
    if (message.id === undefined) return
    if (settings.cut?.(message)) {
      for (const each of streams.values()) each.destroy()
      return
    }
    const reply = await scene.answer(message).then(
      (result) => ({ result }),
      (error) => ({ error: { code: error.code ?? -32603, message: error.message } }),
    )
    stream.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, ...reply })}\n\n`)
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/sse`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
