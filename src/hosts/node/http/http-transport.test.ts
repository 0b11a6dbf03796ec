import http from "node:http"
import https from "node:https"
import { afterEach, expect, test, vi } from "vitest"
import { listen, stopServers } from "../../../../test/support/proxy-servers.ts"
import { nodeTransport } from "./http-transport.ts"

vi.mock("./proxy.ts", () => {
  throw new Error("loaded without need")
})

afterEach(stopServers)

test("as many connections are kept as were used at once", async () => {
  const runs = 300
  let connections = 0
  let waiting: http.ServerResponse[] = []
  const server = http.createServer((_request, response) => {
    waiting.push(response)
    if (waiting.length < runs) return
    for (const each of waiting) each.end("ok")
    waiting = []
  })
  server.on("connection", () => connections++)
  const url = `http://127.0.0.1:${await listen(server)}/`
  const transport = nodeTransport({}, {})
  const ask = () => transport.stream({ url, headers: {}, body: new Uint8Array() }, { head() {}, chunk() {} })
  for (let turn = 0; turn < 3; turn++) await Promise.all(Array.from({ length: runs }, ask))
  expect(connections).toBe(runs)
})

test("proxy code is loaded only if a proxy is configured", async () => {
  const url = `http://127.0.0.1:${await listen(http.createServer((_request, response) => response.end("ok")))}/`
  const ask = (variables: Readonly<Record<string, string>>) =>
    nodeTransport({}, variables).stream({ url, headers: {}, body: new Uint8Array() }, { head() {}, chunk() {} })
  await ask({ NO_PROXY: "example", http_proxy: "" })
  await expect(ask({ http_proxy: "http://127.0.0.1:1" })).rejects.toThrow("mock")
})

test("an invalid header does not cost a kept connection", async () => {
  let connections = 0
  const server = http.createServer((_request, response) => response.end("ok"))
  server.on("connection", () => connections++)
  const url = `http://127.0.0.1:${await listen(server)}/`
  const transport = nodeTransport({}, {})
  const ask = (headers: Readonly<Record<string, string>>) =>
    transport.stream({ url, headers, body: new Uint8Array() }, { head() {}, chunk() {} })
  await ask({})
  for (let turn = 0; turn < 3; turn++) {
    await expect(ask({ "x-name": "two\nlines" })).rejects.toMatchObject({ code: "config_invalid" })
    await ask({})
  }
  expect(connections).toBe(1)
})

test("a custom agent opens the connections, and proxy variables are ignored", async () => {
  const url = `http://127.0.0.1:${await listen(http.createServer((_request, response) => response.end("ok")))}/`
  const agent = new http.Agent({ keepAlive: true })
  const transport = nodeTransport({ agent }, { http_proxy: "http://127.0.0.1:1" })
  await transport.stream({ url, headers: {}, body: new Uint8Array() }, { head() {}, chunk() {} })
  expect(Object.keys(agent.freeSockets).length).toBe(1)
  agent.destroy()
})

test("an agent for another protocol is config_invalid", async () => {
  const transport = nodeTransport({ agent: new https.Agent() })
  const request = { url: "http://127.0.0.1:1/", headers: {}, body: new Uint8Array() }
  await expect(transport.stream(request, { head() {}, chunk() {} })).rejects.toMatchObject({
    code: "config_invalid",
    fix: expect.stringContaining("http.Agent"),
  })
})

test("an agent combined with settings that it would ignore is config_invalid", () => {
  expect(() => nodeTransport({ agent: new http.Agent(), ca: "pem" })).toThrow(
    expect.objectContaining({ code: "config_invalid", message: expect.stringContaining("ca cannot be combined") }),
  )
})
