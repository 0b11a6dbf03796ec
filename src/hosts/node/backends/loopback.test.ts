import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { afterAll, describe, expect, test } from "vitest"
import type { LoopbackService } from "../../../contract/backend-env.ts"
import { gateAddress, gateCommand, nodeGate } from "./gate-program.ts"
import { serveLoopback } from "./loopback.ts"

const folder = mkdtempSync(join(tmpdir(), "longhaul-loopback-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const service: LoopbackService = {
  tools: [{ name: "send", description: "Sends.", inputSchema: { type: "object" } }],
  callTool: async (call) => ({ status: "ok", output: [{ type: "text", text: JSON.stringify(call) }] }),
  async decide(question) {
    if (question === "failure") throw new Error("no")
    return { decided: question }
  },
}
const open = () => serveLoopback(service, { folder, version: "1" })

async function ask([program = "", ...args]: readonly string[], input: string, env: NodeJS.ProcessEnv = process.env) {
  const child = spawn(program, args, { env, stdio: ["pipe", "pipe", "inherit"] })
  // It may end before it has read anything.
  child.stdin.on("error", () => {})
  child.stdin.end(input)
  const exit = new Promise<number | null>((resolve) => child.once("exit", resolve))
  return { output: await text(child.stdout), code: await exit }
}

test("a session's tools are an MCP server, and calls keep the client's id", async () => {
  const loopback = await open()
  const client = new Client({ name: "test", version: "1" })
  const { url, headers } = loopback.mcp
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  expect((await client.listTools()).tools).toMatchObject([{ name: "send" }])
  const plain = await client.callTool({ name: "send", arguments: { to: "a" } })
  expect(plain.content).toEqual([{ type: "text", text: '{"name":"send","args":{"to":"a"}}' }])
  const withId = await client.callTool({ name: "send", arguments: {}, _meta: { "claudecode/toolUseId": "toolu_1" } })
  expect(withId.content).toEqual([{ type: "text", text: '{"name":"send","args":{},"callId":"toolu_1"}' }])
  await client.close()
  await loopback.close()
})

test("without the token nothing is served", async () => {
  const { mcp, close } = await open()
  const gate = mcp.url.replace(/mcp$/, "gate")
  for (const url of [mcp.url, gate]) {
    const headers = { authorization: "Bearer guessed", "content-type": "application/json" }
    expect((await fetch(url, { method: "POST", headers, body: "{}" })).status).toBe(401)
  }
  await close()
})

test("the gate prints the decision, holds no secret in its arguments, and leaves no file", async () => {
  const { gate, mcp, close } = await open()
  expect(await ask(gate, '{"tool":"Bash"}')).toEqual({ output: '{"decided":{"tool":"Bash"}}', code: 0 })
  const [file = ""] = readdirSync(folder)
  const [, token = "none"] = readFileSync(join(folder, file), "utf8").trim().split(" ")
  expect(mcp.headers.authorization).toContain(token)
  expect(gate.join(" ")).not.toContain(token)
  await close()
  expect(readdirSync(folder)).toEqual([])
})

const file = (gate: readonly string[]) => gate.at(-1) ?? ""
const gates = [
  ["in a shell", (gate: readonly string[]) => gate],
  ["in Node", (gate: readonly string[]) => nodeGate(file(gate))],
] as const

describe.each(gates)("the gate %s", (_, form) => {
  test.each(["{}", '{"text":"π \\u0000 \\"quoted\\" $(id) `id` %s \\n"}', JSON.stringify("x".repeat(200_000))])(
    "the gate passes a question on as it is",
    async (question) => {
      const { gate, close } = await open()
      expect(await ask(form(gate), question)).toEqual({
        output: `{"decided":${JSON.stringify(JSON.parse(question))}}`,
        code: 0,
      })
      await close()
    },
  )

  test.each([
    ["a decision that fails", '"failure"'],
    ["a question that is not JSON", "{"],
    ["no question", ""],
  ])("the gate exits with 2 for %s", async (_, input) => {
    const { gate, close } = await open()
    expect(await ask(form(gate), input)).toEqual({ output: "", code: 2 })
    await close()
  })

  test("the gate exits with 2 once the service is closed", async () => {
    const { gate, close } = await open()
    await close()
    expect(await ask(form(gate), "{}")).toMatchObject({ output: "", code: 2 })
  })

  test.each([
    ["an answer that is cut off", "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{}"],
    ["an answer without an end", "HTTP/1.1 200 OK\r\ncontent-len"],
    ["another status", "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\n{}"],
    ["an answer that is not HTTP", "{}"],
    ["no answer", ""],
    ["an answer without a decision", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"],
    ["an answer that is not an object", "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull"],
    ["half an answer of unknown length", 'HTTP/1.0 200 OK\r\n\r\n{"hookSpecific'],
  ])("the gate exits with 2 if the service sends %s", async (_, answer) => {
    const server = createServer((socket) => {
      socket.on("error", () => {})
      socket.once("data", () => socket.end(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const path = join(folder, "address")
    writeFileSync(path, gateAddress(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "token"))
    expect(await ask(form([...gateCommand(path)]), "{}")).toMatchObject({ code: 2 })
    rmSync(path)
    server.close()
  })
})

test.each([
  ["a start file", { BASH_ENV: "START" }],
  ["a function for exit", { "BASH_FUNC_exit%%": "() { return 0; }" }],
  ["a function for a builtin", { "BASH_FUNC_read%%": "() { echo '{}'; builtin exit 0; }" }],
  ["a program called cat", { PATH: "PROGRAMS:/usr/bin:/bin" }],
  ["options of the shell", { SHELLOPTS: "noexec", BASHOPTS: "extdebug" }],
])("the gate in a shell is not opened by an environment with %s", async (_, hostile) => {
  const { gate, close } = await open()
  const programs = mkdtempSync(join(tmpdir(), "longhaul-hostile-"))
  writeFileSync(join(programs, "cat"), '#!/bin/sh\necho \'{"tool":"Read"}\'\n', { mode: 0o755 })
  writeFileSync(join(programs, "start"), "echo '{}'; exit 0\n")
  const env = Object.fromEntries(
    Object.entries(hostile).map(([name, value]) => {
      return [name, value.replace("START", join(programs, "start")).replace("PROGRAMS", programs)]
    }),
  )
  const given = { PATH: "/usr/bin:/bin", ...env }
  expect(await ask(gate, '{"tool":"Bash"}', given)).toEqual({ output: '{"decided":{"tool":"Bash"}}', code: 0 })
  expect(await ask(gate, '"failure"', given)).toEqual({ output: "", code: 2 })
  await close()
  rmSync(programs, { recursive: true })
})

test("a decision that is not an object is refused", async () => {
  // Safe to lie here: a service is a value of the host.
  const { gate, close } = await serveLoopback(
    { ...service, decide: async () => undefined as never },
    { folder, version: "1" },
  )
  expect(await ask(gate, "{}")).toEqual({ output: "", code: 2 })
  await close()
})

test("the token of one session opens no other", async () => {
  const [one, other] = [await open(), await open()]
  const address = other.mcp.url.replace("/mcp", "/gate")
  const headers = { "content-type": "application/json", ...one.mcp.headers }
  expect((await fetch(address, { method: "POST", headers, body: "{}" })).status).toBe(401)
  expect((await fetch(other.mcp.url, { method: "POST", headers, body: "{}" })).status).toBe(401)
  await one.close()
  await other.close()
})

test("only its owner can read the token of a gate", async () => {
  const own = join(folder, "own")
  const loopback = await serveLoopback(service, { folder: own, version: "1" })
  const [file = ""] = readdirSync(own)
  expect(statSync(join(own, file)).mode & 0o777).toBe(0o600)
  expect(statSync(own).mode & 0o777).toBe(0o700)
  await loopback.close()
})
