import { expect, test } from "vitest"
import { serverConfig } from "./servers.ts"

test("the config of MCP servers holds no value that may be a secret: the program takes each from its environment", () => {
  const given = {
    files: { command: "server", args: ["--root", "/data"], env: { TOKEN: "t-1" } },
    notes: { url: "https://notes.example/mcp?key=k-1", headers: { authorization: "Bearer b-1" } },
    old: { type: "sse", url: "https://old.example/sse" },
  } as const
  const bridge = {
    tools: { type: "http", url: "http://127.0.0.1:1/mcp", headers: { authorization: "Bearer b-2" } },
  } as const
  const { servers, env } = serverConfig(given, bridge)
  const plain = JSON.stringify(servers).replaceAll(/\$\{(\w+)\}/g, (_, name: string) => env[name] ?? "missing")
  expect(JSON.parse(plain)).toEqual({
    files: { type: "stdio", ...given.files },
    notes: { type: "http", ...given.notes },
    old: { type: "sse", url: "https://old.example/sse", headers: {} },
    tools: bridge.tools,
  })
  const values = ["/data", "t-1", "k-1", "b-1", "b-2", "127.0.0.1"]
  expect(values.filter((value) => JSON.stringify(servers).includes(value))).toEqual([])
})
