import { fileURLToPath } from "node:url"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { afterEach } from "vitest"
import { commandLine } from "./command-line.ts"
import { until } from "./watchdog.ts"

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

/** How the official client connects: transport and protocol revision. */
export const meetings = [
  { transport: "stdio", protocol: "2025-11-25" },
  { transport: "stdio", protocol: "2026-07-28" },
  { transport: "http", protocol: "2025-11-25" },
  { transport: "http", protocol: "2026-07-28" },
] as const

export type Meeting = (typeof meetings)[number]

export interface ServedHttp {
  readonly url: string
  readonly token: string
}

/** The built program as a server, and official clients of it; all are closed after each test. */
export function mcpClients() {
  const line = commandLine()
  const clients: Client[] = []
  const servers: ReturnType<typeof line.start>[] = []
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close()
    // Not killed, unlike others: it could not end its commands then.
    for (const { child, ended } of servers.splice(0)) {
      child.kill("SIGTERM")
      await ended
    }
  })

  /** Resolves when it is listening. */
  async function serveHttp(args: readonly string[] = [], variables?: Readonly<Record<string, string>>) {
    const server = line.start(["mcp", "--http", "--json", ...args], variables)
    servers.push(server)
    await until(() => server.shown.stdout.includes("\n") || server.child.exitCode !== null)
    return { ...server, ...(JSON.parse(server.shown.stdout) as ServedHttp) }
  }

  async function connectHttp({ url, token }: ServedHttp, protocol: Meeting["protocol"]): Promise<Client> {
    const headers = { authorization: `Bearer ${token}` }
    return connected(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }), protocol)
  }

  async function connected(
    transport: StdioClientTransport | StreamableHTTPClientTransport,
    protocol: Meeting["protocol"],
  ): Promise<Client> {
    const isNew = protocol === "2026-07-28"
    const client = new Client(
      { name: "test", version: "1" },
      isNew ? { versionNegotiation: { mode: { pin: protocol } } } : {},
    )
    clients.push(client)
    await client.connect(transport)
    return client
  }

  /** A client connected to a server for `place.workspace`. */
  async function meet({ transport, protocol }: Meeting, args: readonly string[] = []): Promise<Client> {
    if (transport === "http") return connectHttp(await serveHttp(args), protocol)
    const env = { PATH: process.env.PATH ?? "", HOME: line.place.home, XDG_STATE_HOME: `${line.place.home}/state` }
    const command = { command: process.execPath, args: [main, "mcp", ...args], cwd: line.place.workspace, env }
    return connected(new StdioClientTransport(command), protocol)
  }

  return { ...line, serveHttp, connectHttp, meet }
}
