import { mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Loopback, LoopbackService } from "../../../contract/backend-env.ts"
import type { Json } from "../../../contract/json.ts"
import { newNonce } from "../../../lib/id.ts"
import { isJsonObject } from "../../../lib/json.ts"
import { serve } from "../http/serve.ts"
import { createMcpGuard } from "../mcp/guard.ts"
import { createMcpHandler } from "../mcp/http.ts"
import type { McpTools } from "../mcp/server.ts"
import { gateAddress, gateCommand } from "./gate-program.ts"

export interface LoopbackOptions {
  /** For the file that names the gate's address. */
  readonly folder: string
  readonly version: string
}

/** Serves one session's tools and decisions on a loopback address, with a token of its own. */
export async function serveLoopback(service: LoopbackService, { folder, version }: LoopbackOptions): Promise<Loopback> {
  const token = newNonce() + newNonce()
  const sdk = await import("@modelcontextprotocol/server")
  const guard = createMcpGuard(sdk, { token, host: "127.0.0.1" })
  const handler = await createMcpHandler(bridged(service), { token, version })
  const served = await serve(async (request) => {
    if (new URL(request.url).pathname !== "/gate") return handler.fetch(request)
    return guard(request) ?? answer(service, request)
  })
  const address = join(folder, `gate-${newNonce()}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(address, gateAddress(served.url, token), { mode: 0o600 })
  return {
    mcp: { url: `${served.url}/mcp`, headers: { authorization: `Bearer ${token}` } },
    gate: gateCommand(address),
    async close() {
      await rm(address, { force: true })
      await served.close()
      await handler.close()
    },
  }
}

/** A question that cannot be answered is refused: the gate exits with 2 for anything but 200. */
async function answer({ decide }: LoopbackService, request: Request): Promise<Response> {
  if (decide === undefined || request.method !== "POST") return new Response("Not Found", { status: 404 })
  try {
    const question = (await request.json()) as Json // Safe: it came as JSON.
    // With its length, so that the gate notices an answer that is cut off.
    const decision = await decide(question)
    if (!isJsonObject(decision)) return new Response("Refused", { status: 500 })
    const answer = new TextEncoder().encode(JSON.stringify(decision))
    return new Response(answer, {
      headers: { "content-type": "application/json", "content-length": `${answer.length}` },
    })
  } catch {
    return new Response("Refused", { status: 500 })
  }
}

/** The runtime decides about calls, so their effects and risks are not declared to the program. */
function bridged({ tools, callTool }: LoopbackService): McpTools {
  const names = new Set(tools.map(({ name }) => name))
  return {
    listTools: () => tools,
    tool: (name) => (names.has(name) ? unclassified : undefined),
    dispatch: ({ name, args, callId }) => callTool({ name, args, ...(callId !== undefined && { callId }) }),
  }
}

const unclassified = { effect: "once", risk: "high" } as const
