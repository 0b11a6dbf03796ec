import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { readMcpServers } from "./config-file.ts"

const folder = mkdtempSync(join(tmpdir(), "longhaul-mcp-config-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const variable = (name: string) => `\${${name}}`

function read(mcpServers: object, variables: Record<string, string> = {}) {
  const path = join(folder, ".mcp.json")
  writeFileSync(path, JSON.stringify({ mcpServers }))
  return readMcpServers(path, variables)
}

test("a server that is disabled is left out, and its variables need not be set", async () => {
  const servers = {
    off: { command: variable("NOT_SET"), disabled: true },
    on: { command: "server", disabled: false },
    remote: { url: "https://tides.example/mcp" },
  }
  expect(await read(servers)).toEqual({ on: { command: "server" }, remote: servers.remote })
  await expect(read({ odd: { command: "server", disabled: "yes" } })).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("mcpServers.odd.disabled"),
  })
})

test("the folder of a program is relative to the file, and may hold a variable", async () => {
  const servers = { a: { command: "a", cwd: "servers/a" }, b: { command: "b", cwd: variable("PLACE") } }
  expect(await read(servers, { PLACE: "/srv/b" })).toEqual({
    a: { command: "a", cwd: join(folder, "servers/a") },
    b: { command: "b", cwd: "/srv/b" },
  })
})
