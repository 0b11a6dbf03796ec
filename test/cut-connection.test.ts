import http, { type IncomingMessage, type ServerResponse } from "node:http"
import { afterEach, describe, expect, test } from "vitest"
import { anthropic, createRuntime, defineTool, native, nodeTransport, type RunEvent } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { createSimulator } from "../src/testing/index.ts"
import { listen, stopServers } from "./support/proxy-servers.ts"

afterEach(stopServers)

describe("nodeTransport", () => {
  test("a kept connection cut while the server works leaves a retry record for each extra request", async () => {
    const simulator = createSimulator({
      script: ({ lastToolResults: [result] }) =>
        result ? "done" : { parts: [{ toolCall: { name: "step", args: {} } }] },
    })
    const bodies: string[] = []
    const server = http.createServer(async (request, response) => {
      const body = await textOf(request)
      // The second and third request use a kept connection, or the next one.
      if (bodies.push(body) === 2 || bodies.length === 3) setTimeout(() => request.socket.destroy(), 30)
      else await answer(await simulator.fetch(requestFrom(request, body)), response)
    })
    const baseUrl = `http://127.0.0.1:${await listen(server)}`
    const events: RunEvent[] = []
    const runtime = createRuntime({
      store: memoryStore(),
      transport: nodeTransport({}, {}),
      model: anthropic({ model: "claude-sonnet-4-6", apiKey: "key", baseUrl }),
      backend: native({ retry: { firstMs: 1 } }),
      tools: [
        defineTool({ name: "step", description: "Does a step.", inputSchema: { type: "object" }, run: () => "ok" }),
      ],
    })
    const result = await runtime.run({ task: "Take a step.", onEvent: (event) => events.push(event) })
    await runtime.close()
    expect(result).toMatchObject({ status: "done", text: "done" })
    expect(bodies.length).toBe(4)
    expect(events.filter(({ type }) => type === "retry")).toMatchObject([
      { failure: { code: "network" } },
      { failure: { code: "network" } },
    ])
  })
})

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function requestFrom({ url, headers }: IncomingMessage, body: string): Request {
  const names = ["content-type", "x-api-key", "anthropic-version"]
  const kept = names.map((name): [string, string] => [name, String(headers[name])])
  return new Request(new URL(url ?? "/", "http://127.0.0.1"), { method: "POST", headers: kept, body })
}

async function answer(from: Response, response: ServerResponse): Promise<void> {
  response.writeHead(from.status, Object.fromEntries(from.headers))
  response.end(Buffer.from(await from.arrayBuffer()))
}
