// A server of the revision 2026-07-28 whose tools ask before they act; what it did is in its ledger.
// As a program: node asking-server.mjs <settings.json>.
import { appendFileSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { argv } from "node:process"
import { pathToFileURL } from "node:url"
import { createMcpHandler, inputRequired, Server } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"

const text = (value) => ({ content: [{ type: "text", text: value }] })
const form = (message, properties, required = Object.keys(properties)) =>
  inputRequired.elicit({ message, requestedSchema: { type: "object", properties, required } })
const ask = (requests, requestState) => inputRequired({ inputRequests: requests, requestState })

/** `settings`: `ledger`, a file; `description` of the tools; `secretState`: kept by the server between two requests. */
export function askingServer(settings = {}) {
  const { ledger, description = "asks", state = "state-of-the-server", tools = Object.keys(handlers) } = settings
  const write = (line) => ledger && appendFileSync(ledger, `${line}\n`)
  return () => {
    const server = new Server({ name: "asking", version: "1" }, { capabilities: { tools: {} } })
    server.setRequestHandler("tools/list", () => ({
      tools: tools.map((name) => ({ name, description, inputSchema: { type: "object" } })),
    }))
    server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => {
      const { inputResponses, requestState } = mcpReq
      const known = requestState()
      write(`leg ${params.name} ${JSON.stringify({ state: known, inputResponses })}`)
      return handlers[params.name](inputResponses, known, { state, settings, write, args: params.arguments })
    })
    return server
  }
}

const handlers = {
  /** Two questions in two rounds, then the effect. */
  book(responses, known, { state, write }) {
    if (known === undefined) return ask({ where: form("Where to?", { city: { type: "string" } }) }, `${state}-1`)
    if (known === `${state}-1`) {
      if (responses?.where?.action !== "accept") return text(`not booked: ${responses?.where?.action}`)
      const fields = {
        seats: { type: "integer", minimum: 1, maximum: 9 },
        meal: { type: "string", enum: ["fish", "none"], default: "none" },
      }
      return ask({ how: form("How many?", fields, ["seats"]) }, `${state}-2 ${responses.where.content.city}`)
    }
    if (!known.startsWith(`${state}-2 `)) throw new Error("This state is not mine.")
    const { seats, meal } = responses.how.content
    const booked = `booked ${seats} to ${known.slice(state.length + 3)} (${meal})`
    write(`effect ${booked}`)
    return text(booked)
  },
  /** Both questions at once. */
  both(responses, known, { state, write }) {
    const requests = { a: form("A?", { a: { type: "string" } }), b: form("B?", { b: { type: "boolean" } }) }
    if (known === undefined) return ask(requests, state)
    write(`effect ${JSON.stringify([responses?.a, responses?.b])}`)
    return text("both")
  },
  for_ever: (_, __, { state }) => ask({ again: form("Again?", { x: { type: "string" } }) }, state),
  /** Asks the model, and then acts. */
  model(responses, known, { state, write }) {
    const messages = [{ role: "user", content: { type: "text", text: "Hi" } }]
    if (known === undefined) return ask({ m: inputRequired.createMessage({ messages, maxTokens: 5 }) }, state)
    write("effect model")
    return text(`it said ${responses?.m?.content?.text}`)
  },
  busy: (_, __, { state }) => inputRequired({ requestState: state }),
  large: () => ask({ q: form("Q?", { x: { type: "string" } }) }, "x".repeat(70_000)),
  open(responses, known, { settings, write }) {
    const { url = "https://bank.example/login?id=7" } = settings
    if (known === undefined) return ask({ login: inputRequired.elicitUrl({ message: "Log in first.", url }) }, "s")
    write(`effect ${responses?.login?.action}`)
    return text(`login: ${responses?.login?.action}`)
  },
  raw(responses, known, { settings, write }) {
    if (known === undefined) {
      const request = { method: "elicitation/create", params: settings.params }
      return { resultType: "input_required", inputRequests: { q: request }, requestState: "s" }
    }
    write(`effect ${JSON.stringify(responses?.q)}`)
    return text(JSON.stringify(responses?.q))
  },
  crash(_, known, { write }) {
    if (known === undefined) return ask({ q: form("Q?", { x: { type: "string" } }) }, "s")
    write("effect crash")
    process.exit(3)
  },
  plain(_, __, { write }) {
    write("effect plain")
    return text("plain")
  },
}

export async function serveAsking(settings = {}) {
  const handler = createMcpHandler(askingServer(settings))
  const seen = []
  const server = createServer(async (request, response) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces)
    seen.push(body.toString())
    if (settings.isGone?.()) return request.socket.destroy()
    const { id, method } = JSON.parse(body.toString() || "{}")
    if (method === "tools/call" && settings.result) {
      response.setHeader("content-type", "application/json")
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, result: settings.result }))
    }
    const headers = Object.entries(request.headers).filter(([name]) => !["connection", "host"].includes(name))
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method,
        headers,
        ...(body.length > 0 && { body }),
      }),
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body) for await (const piece of answer.body) response.write(piece)
    response.end()
  })
  await new Promise((resolve) => server.listen(settings.port ?? 0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    port: server.address().port,
    seen,
    async close() {
      await handler.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  serveStdio(askingServer(JSON.parse(readFileSync(argv[2], "utf8"))))
}
