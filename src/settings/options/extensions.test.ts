import { expect, test } from "vitest"
import type { McpProgram, McpRemote, McpServer, McpServers } from "../../contract/mcp.ts"
import { fakeBackend } from "../../testing/index.ts"
import { drawnOn } from "./extensions.ts"

const vendor = fakeBackend({ script: () => "", capabilities: { mcpServers: "own" } })
const native = fakeBackend({ script: () => "" })

/** Which servers the backends connect to, and which the runtime. */
function drawn(servers: McpServers, backends = [vendor]) {
  let ours: readonly string[] = []
  const serverExtension = (given: McpServers) => {
    ours = Object.keys(given)
    return { name: "mcpServers", open: async () => ({}) }
  }
  const source = { extensions: [], extensionTools: {}, serverExtension }
  const { mcpServers } = drawnOn(
    source,
    backends.map((backend) => ({ backend })),
    servers,
    [],
    {},
  )
  return { theirs: Object.keys(mcpServers), ours }
}

const program: McpProgram = { command: "server", args: ["--fast"], env: { LEVEL: "1" } }
const remote: McpRemote = { type: "http", url: "https://tides.example/mcp", headers: { "x-team": "north" } }

test("servers that any program can connect to are passed on to backends that connect themselves", () => {
  expect(drawn({ program, remote })).toEqual({ theirs: ["program", "remote"], ours: [] })
  expect(drawn({ program, remote }, [native])).toEqual({ theirs: [], ours: ["program", "remote"] })
  expect(drawn({ program }, [vendor, native])).toEqual({ theirs: [], ours: ["program"] })
})

type PlainSetting = "type" | "command" | "args" | "env" | "url" | "headers"

/** One server for each other setting: the compiler asks for the next one. */
const withOwnSetting: Record<Exclude<keyof McpProgram | keyof McpRemote, PlainSetting>, McpServer> = {
  required: { ...program, required: true },
  cwd: { ...program, cwd: "/srv" },
  timeoutMs: { ...program, timeoutMs: 5 },
  trustHints: { ...remote, trustHints: true },
  allowSampling: { ...remote, allowSampling: true },
  revision: { ...program, revision: "2026-07-28" },
  auth: { ...remote, auth: { clientId: "c" } },
  headersProvider: { ...remote, headersProvider: () => ({}) },
  preferBindingTransport: { ...remote, preferBindingTransport: true },
}

test.each(Object.entries(withOwnSetting))(
  "a server with %s, which only the runtime's own connection has, is not passed on: the others are",
  (_, server) => {
    expect(drawn({ server, remote })).toEqual({ theirs: ["remote"], ours: ["server"] })
  },
)
