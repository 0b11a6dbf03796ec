import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { afterAll, expect, test } from "vitest"
import type { LoopbackService } from "../../../contract/backend-env.ts"
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
  const { token } = JSON.parse(readFileSync(join(folder, file), "utf8"))
  expect(mcp.headers.authorization).toContain(token)
  expect(gate.join(" ")).not.toContain(token)
  await close()
  expect(readdirSync(folder)).toEqual([])
})

test.each([
  ["a decision that fails", '"trouble"'],
  ["a question that is not JSON", "{"],
])("the gate exits with 2 for %s", async (_, input) => {
  const { gate, close } = await open()
  expect(await ask(gate, input)).toEqual({ output: "", code: 2 })
  await close()
})

test("the gate exits with 2 once the service is closed", async () => {
  const { gate, close } = await open()
  await close()
  expect(await ask(gate, "{}")).toMatchObject({ output: "", code: 2 })
})
