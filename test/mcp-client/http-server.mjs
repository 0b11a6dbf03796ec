// The scene's server over streamable HTTP, with sessions. `refuse(request, body)` returns a status to refuse a request.
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { answers } from "./answers.mjs"

export async function serveScene(settings = {}) {
  const scene = answers(settings)
  const sessions = new Set()
  const requests = []
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const piece of request) body += piece
    const message = body === "" ? undefined : JSON.parse(body)
    requests.push({ method: request.method, headers: request.headers, message })
    const guarded = await settings.guard?.(request)
    if (guarded) return response.writeHead(guarded.status, guarded.headers).end(guarded.body)
    const status = settings.refuse?.(request, message)
    if (status) return response.writeHead(status).end()
    if (request.method === "GET") return response.writeHead(405).end()
    if (request.method === "DELETE") return response.writeHead(200).end()
    const session = request.headers["mcp-session-id"]
    if (message.method === "initialize") {
      if (settings.respond?.(message, request, response)) return
      const id = randomUUID()
      if (!settings.stateless) sessions.add(id)
      const result = await scene.answer(message)
      response.writeHead(200, {
        "content-type": "application/json",
        ...(!settings.stateless && { "mcp-session-id": id }),
      })
      return response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }))
    }
    if (message.method === "server/discover") return response.writeHead(400).end()
    if (!settings.stateless && !sessions.has(session)) return response.writeHead(404).end()
    if (message.id === undefined) return response.writeHead(202).end()
    if (settings.cut?.(message)) return request.socket.destroy()
    if (settings.respond?.(message, request, response)) return
    try {
      const result = await scene.answer(message)
      if (result === undefined) return
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }))
    } catch (error) {
      response.writeHead(200, { "content-type": "application/json" })
      const failure = { code: error.code ?? -32603, message: error.message }
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error: failure }))
    }
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    requests,
    /** The server forgets all sessions, as after a restart. */
    forget: () => sessions.clear(),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
