import http from "node:http"
import { afterEach, expect, test, vi } from "vitest"
import { listen, stopServers } from "../../../test/proxy-servers.ts"
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

test("what proxies need is loaded only where one is named", async () => {
  const url = `http://127.0.0.1:${await listen(http.createServer((_request, response) => response.end("ok")))}/`
  const ask = (variables: Readonly<Record<string, string>>) =>
    nodeTransport({}, variables).stream({ url, headers: {}, body: new Uint8Array() }, { head() {}, chunk() {} })
  await ask({ NO_PROXY: "example", http_proxy: "" })
  await expect(ask({ http_proxy: "http://127.0.0.1:1" })).rejects.toThrow("mock")
})

test("a header that no request can carry costs no kept connection", async () => {
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
