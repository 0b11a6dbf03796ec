import { createMcpServer, type McpIdentity, type McpTools } from "./server.ts"

/**
 * Serves one client on stdin and stdout, which then carry only the protocol. Resolves when the client has ended the
 * connection or `signal` aborts: its calls are aborted by then.
 */
export async function serveMcpStdio(tools: McpTools, identity: McpIdentity, signal: AbortSignal): Promise<void> {
  const [sdk, { serveStdio, StdioServerTransport }] = await Promise.all([
    import("@modelcontextprotocol/server"),
    import("@modelcontextprotocol/server/stdio"),
  ])
  const transport = new StdioServerTransport()
  const connection = serveStdio(() => createMcpServer(sdk, tools, identity), { transport })
  const { onclose } = transport
  const closed = new Promise<void>((resolve) => {
    transport.onclose = () => {
      onclose?.()
      resolve()
    }
  })
  const stop = () => void connection.close()
  signal.addEventListener("abort", stop)
  if (signal.aborted) stop()
  await closed
  signal.removeEventListener("abort", stop)
}
