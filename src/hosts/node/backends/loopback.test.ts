import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
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
    if (question === "trouble") throw new Error("no")
    return { decided: question }
  },
}
const open = () => serveLoopback(service, { folder, version: "1" })

async function ask([program = "", ...args]: readonly string[], input: string) {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] })
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
    "passes a question on as it is",
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
    ["a decision that fails", '"trouble"'],
    ["a question that is not JSON", "{"],
    ["no question", ""],
  ])("exits with 2 for %s", async (_, input) => {
    const { gate, close } = await open()
    expect(await ask(form(gate), input)).toEqual({ output: "", code: 2 })
    await close()
  })

  test("exits with 2 once the service is closed", async () => {
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
  ])("exits with 2 for %s", async (_, answer) => {
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
