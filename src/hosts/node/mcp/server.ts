import type { Tool as McpTool, Server, ServerContext } from "@modelcontextprotocol/server"
import type { Json } from "../../../contract/json.ts"
import type { Tool, ToolOutcome, ToolSpec } from "../../../contract/tool.ts"
import type { DispatchCall } from "../../../tools/kernel/dispatch.ts"
import { toMcpContent } from "./content.ts"

/** The served tools: created by `createAgentTools`, or those of a run. */
export interface McpTools {
  listTools(): readonly ToolSpec[]
  tool(name: string): Pick<Tool, "effect" | "risk"> | undefined
  /** `callId`: the client's id of the call, if it sent one. */
  dispatch(
    call: DispatchCall & { readonly callId?: string },
    options: { readonly signal: AbortSignal; readonly onProgress?: (message: string) => void },
  ): Promise<ToolOutcome>
}

/** The official SDK. Loaded only to serve. */
export type McpSdk = typeof import("@modelcontextprotocol/server")

export interface McpIdentity {
  /** Of this package. */
  readonly version: string
}

/** One end of one conversation; many may share the tools. Supports every protocol revision of the SDK. */
export function createMcpServer(sdk: McpSdk, tools: McpTools, { version }: McpIdentity): Server {
  const server = new sdk.Server({ name: "longhaul", title: "Longhaul", version }, { capabilities: { tools: {} } })
  server.setRequestHandler("tools/list", () => ({
    tools: tools.listTools().map((spec) => ({ ...toMcpTool(spec), ...annotationsOf(tools, spec.name) })),
  }))
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    // The only mistake that the protocol reports as an error: everything else is a result for the model.
    if (tools.tool(params.name) === undefined) {
      const message = `Unknown tool: ${JSON.stringify(params.name)}.`
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message)
    }
    // Safe: it came as JSON.
    const args = (params.arguments ?? {}) as Json
    const callId = callIdOf(params._meta)
    const call = { name: params.name, args, ...(callId !== undefined && { callId }) }
    const { status, output } = await tools.dispatch(call, callOptions(context))
    return { content: output.map(toMcpContent), isError: status !== "ok" }
  })
  return server
}

/** As Claude and Codex name it. */
function callIdOf(meta: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const id = meta?.["claudecode/toolUseId"] ?? meta?.callId
  return typeof id === "string" ? id : undefined
}

function toMcpTool({ name, description, inputSchema }: ToolSpec): McpTool {
  return { name, description, inputSchema: { ...inputSchema, type: "object" } }
}

/** Hints for clients that ask a person first. */
function annotationsOf(tools: McpTools, name: string): Pick<McpTool, "annotations"> {
  const tool = tools.tool(name)
  if (tool === undefined) return {}
  const isHarmless = tool.effect === "none"
  return {
    annotations: {
      readOnlyHint: isHarmless,
      destructiveHint: !isHarmless && tool.risk !== "low",
      idempotentHint: tool.effect !== "once",
    },
  }
}

function callOptions({ mcpReq }: ServerContext) {
  const { signal, _meta, notify } = mcpReq
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return { signal }
  let count = 0
  let isSending = false
  const onProgress = (message: string) => {
    // A slow client gets less of it: progress is about the present and must not accumulate.
    if (isSending || signal.aborted) return
    isSending = true
    count += 1
    notify({ method: "notifications/progress", params: { progressToken, progress: count, message } })
      // The end of the connection is reported separately.
      .catch(() => {})
      .finally(() => {
        isSending = false
      })
  }
  return { signal, onProgress }
}
