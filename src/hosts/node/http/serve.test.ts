import { once } from "node:events"
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http"
import { connect } from "node:net"
import { afterEach, expect, test } from "vitest"
import { collectGarbage } from "../../../../test/support/collect-garbage.ts"
import { type FetchHandler, type Served, serve } from "./serve.ts"

let server: Served

afterEach(() => server.close())

test("serve passes method, URL, headers and body to the handler, and returns status, headers and body", async () => {
  server = await serve(async (request) => {
    const { pathname, search } = new URL(request.url)
    const seen = `${request.method} ${pathname}${search} ${request.headers.get("x-kind")} ${await request.text()}`
    const response = new Response(seen, { status: 201, headers: { "x-answer": "yes" } })
    response.headers.append("set-cookie", "a=1")
    response.headers.append("set-cookie", "b=2")
    return response
  })
  const response = await fetch(`${server.url}//else/where?q=1`, {
    method: "POST",
    headers: { "x-kind": "test" },
    body: "hällo",
  })
  expect(response.status).toBe(201)
  expect(response.headers.get("x-answer")).toBe("yes")
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"])
  expect(await response.text()).toBe("POST //else/where?q=1 test hällo")
})

test("serve sends the head immediately and each chunk when it is available", async () => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  server = await serve(
    () =>
      new Response(
        new ReadableStream({
          start(given) {
            controller = given
          },
        }),
      ),
  )
  const reader = (await fetch(server.url)).body?.getReader()
  for (const word of ["one", "two"]) {
    controller?.enqueue(new TextEncoder().encode(word))
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(word)
  }
  controller?.close()
  expect((await reader?.read())?.done).toBe(true)
})

test("serve streams a large request body in and out, complete", async () => {
  server = await serve((request) => new Response(request.body))
  const large = "0123456789".repeat(300_000)
  const response = await fetch(server.url, { method: "POST", body: large })
  expect(await response.text()).toBe(large)
})

test("serve reads a body only as fast as the client receives it", async () => {
  let pulls = 0
  const chunk = new Uint8Array(64 * 1024)
  const body = () =>
    new ReadableStream({
      pull(controller) {
        pulls++
        controller.enqueue(chunk)
      },
    })
  server = await serve(() => new Response(body()))
  const { request, response } = await open(server)
  response.pause()
  // Quiet for some event loop iterations: all buffers in between are full.
  for (let before = -1; before !== pulls; await pause(50)) before = pulls
  const full = pulls
  expect(full).toBeLessThan(1000)
  for await (const _ of response) if (pulls > full + 10) break
  expect(pulls).toBeGreaterThan(full)
  request.destroy()
})

test("serve aborts the signal and cancels the body when the client disconnects", async () => {
  const aborted = withResolvers<unknown>()
  const cancelled = withResolvers<void>()
  server = await serve((request) => {
    request.signal.addEventListener("abort", () => aborted.resolve(request.signal.reason))
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(1)),
      cancel: () => cancelled.resolve(),
    })
    return new Response(body)
  })
  const { request, response } = await open(server)
  await once(response, "data")
  request.on("error", () => {})
  request.destroy()
  expect(await aborted.promise).toMatchObject({ name: "AbortError" })
  await cancelled.promise
})

test("serve aborts the signal when the client disconnects before the response", async () => {
  const arrived = withResolvers<void>()
  const aborted = withResolvers<void>()
  server = await serve((request) => {
    if (request.url.endsWith("/alive")) return new Response("alive")
    arrived.resolve()
    return new Promise((_resolve, reject) => {
      request.signal.addEventListener("abort", () => {
        aborted.resolve()
        reject(request.signal.reason)
      })
    })
  })
  const request = httpRequest(server.url)
  request.on("error", () => {})
  request.end()
  await arrived.promise
  request.destroy()
  await aborted.promise
  expect(await (await fetch(`${server.url}/alive`)).text()).toBe("alive")
})

test.each([
  ["before the response", () => new Promise<Response>(() => {})],
  ["in the middle of the response", () => new Response(new ReadableStream({ start: (body) => body.enqueue(byte) }))],
])("serve aborts a signal that nothing else refers to, after a garbage collection %s", async (_, answer) => {
  const arrived = withResolvers<void>()
  const seen: string[] = []
  server = await serve((request) => {
    if (request.url.endsWith("/alive")) return new Response("alive")
    request.signal.addEventListener("abort", () => seen.push("aborted"))
    arrived.resolve()
    return answer()
  })
  const request = httpRequest(server.url)
  request.on("error", () => {})
  request.end()
  await arrived.promise
  await collectGarbage()
  request.destroy()
  // The server has seen the disconnect before it answers these.
  for (let probe = 0; probe < 50 && seen.length === 0; probe++) await fetch(`${server.url}/alive`)
  expect(seen).toEqual(["aborted"])
})

const byte = new Uint8Array(1)

test("serve resets the connection if a body fails, after sending the data before it", async () => {
  const taken = withResolvers<void>()
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode("so far"))
      await taken.promise
      controller.error(new Error("broken"))
    },
  })
  server = await serve(() => new Response(body))
  // On a raw socket, and only after it has read: an HTTP client reports any early end as a reset.
  const socket = connect(server.port, "127.0.0.1")
  socket.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
  const [head] = await once(socket, "data")
  expect(String(head)).toMatch(/so far\r\n$/)
  const failed = once(socket, "error")
  taken.resolve()
  expect((await failed)[0]).toMatchObject({ code: "ECONNRESET" })
})

test("serve responds with 500 if the handler throws or returns an invalid response", async () => {
  const handlers: readonly FetchHandler[] = [
    () => {
      throw new Error("secret detail")
    },
    () => Response.error(),
  ]
  server = await serve((request) => (handlers[Number(new URL(request.url).pathname.slice(1))] as FetchHandler)(request))
  for (const path of ["/0", "/1"]) {
    const response = await fetch(`${server.url}${path}`)
    expect([response.status, await response.text()]).toEqual([500, "Internal Server Error"])
  }
})

test("serve responds with 400 to a request without a URL", async () => {
  server = await serve(() => new Response("never"))
  const socket = connect(server.port, "127.0.0.1")
  socket.end("GET / HTTP/1.1\r\nHost: user@evil:x\r\nConnection: close\r\n\r\n")
  const [answer] = await once(socket, "data")
  expect(String(answer)).toContain("400 Bad Request")
})

test("serve keeps a connection usable after a partly read request body", async () => {
  server = await serve(async (request) => {
    await request.body?.getReader().read()
    return new Response("enough")
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let count = 0; count < 3; count++) {
    const { request, response } = await open(server, { method: "POST", agent, body: "x".repeat(500_000) })
    response.resume()
    await once(response, "end")
    expect(request.reusedSocket).toBe(count > 0)
  }
  agent.destroy()
})

test("HEAD and empty responses end without a body", async () => {
  server = await serve(({ method }) => (method === "HEAD" ? new Response("body") : new Response(null, { status: 204 })))
  expect((await fetch(server.url, { method: "HEAD" })).status).toBe(200)
  expect((await fetch(server.url)).status).toBe(204)
})

test("close ends connections in the middle of a response", async () => {
  server = await serve(() => new Response(new ReadableStream()))
  const { response } = await open(server)
  const ended = once(response, "error")
  await server.close()
  expect((await ended)[0]).toMatchObject({ code: "ECONNRESET" })
})

test("serve reports why it cannot listen", async () => {
  server = await serve(() => new Response())
  await expect(serve(() => new Response(), { port: server.port })).rejects.toMatchObject({ code: "EADDRINUSE" })
})

async function open(
  { url }: Served,
  { body, ...options }: { readonly method?: string; readonly agent?: Agent; readonly body?: string } = {},
): Promise<{ readonly request: ClientRequest; readonly response: IncomingMessage }> {
  const request = httpRequest(url, options)
  request.end(body)
  const [response] = await once(request, "response")
  return { request, response }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((given) => {
    resolve = given
  })
  return { promise, resolve }
}

test.each(["x/admin?", "x/admin#", "x\\admin", "x@evil", "x y", "[::1", "x:80/admin"])(
  "the host %s is rejected with 400 because it would change the path",
  async (host) => {
    const paths: string[] = []
    server = await serve((request) => {
      paths.push(new URL(request.url).pathname)
      return new Response()
    })
    const socket = connect(server.port, "127.0.0.1")
    socket.end(`GET /public HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    let answer = ""
    for await (const chunk of socket.setEncoding("utf8")) answer += chunk
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(paths).toEqual([])
  },
)

test.each(["example.com", "example.com:8080", "[::1]:80", "127.0.0.1", "a_b.internal"])(
  "the host %s is served",
  async (host) => {
    server = await serve((request) => new Response(new URL(request.url).pathname))
    const socket = connect(server.port, "127.0.0.1")
    socket.end(`GET /public HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    let answer = ""
    for await (const chunk of socket.setEncoding("utf8")) answer += chunk
    expect(answer).toContain("/public")
  },
)
