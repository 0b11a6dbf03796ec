import { request as httpRequest } from "node:http"
import { createParser, type EventSourceMessage } from "eventsource-parser"
import { afterEach, expect, test } from "vitest"
import { type Served, serve } from "../hosts/node/http/serve.ts"
import type { FaultOrder, SimulatedAnswer, Simulator, SimulatorOptions } from "./index.ts"
import { createSimulator, renderAnswer } from "./index.ts"

const answer: SimulatedAnswer = {
  parts: [{ text: "Grüße aus dem Simulator" }, { toolCall: { name: "List", args: {} } }],
}
const init = {
  method: "POST",
  headers: { "x-api-key": "key", "anthropic-version": "2023-06-01" },
  body: JSON.stringify({ model: "m", max_tokens: 9, stream: true, messages: [{ role: "user", content: "hello" }] }),
}
let simulator: Simulator
let server: Served

afterEach(() => server.close())

test("a status fault has the protocol's error type and the configured Retry-After", async () => {
  const types = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
  }
  const orders = Object.keys(types).map((status): FaultOrder => ({ kind: "status", status: Number(status) }))
  await start([...orders, { kind: "status", status: 429, retryAfter: "7", type: "custom", message: "later" }])
  for (const [status, type] of Object.entries(types)) {
    const received = await ask()
    expect(received.status).toBe(Number(status))
    expect(JSON.parse(received.text)).toMatchObject({
      type: "error",
      error: { type, message: expect.stringMatching(/./) },
      request_id: received.headers["request-id"],
    })
  }
  const custom = await ask()
  expect(custom.headers["retry-after"]).toBe("7")
  expect(JSON.parse(custom.text).error).toEqual({ type: "custom", message: "later" })
})

test("a list of faults is used one per request, then there are none", async () => {
  await start([null, { kind: "status", status: 500 }, undefined])
  expect([(await ask()).status, (await ask()).status, (await ask()).status, (await ask()).status]).toEqual([
    ...[200, 500, 200, 200],
  ])
})

test("a fault function decides from the request", async () => {
  await start(({ index }) => (index === 1 ? { kind: "status", status: 529 } : undefined))
  expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 529, 200])
})

test("a cut ends the body cleanly after exactly the given bytes", async () => {
  const places = [0, 1, 20, 333, 900]
  await start([...places.map((atByte): FaultOrder => ({ kind: "cut", atByte })), { kind: "cut", atByte: 1_000_000 }])
  for (const atByte of places) expect(await ask()).toMatchObject({ status: 200, ending: "end", bytes: atByte })
  expect((await ask()).text).toBe(renderAnswer(answer, simulator.requests.at(-1)))
})

test("a rendered answer has the length of the sent one, so it can be cut at every byte", async () => {
  const { fetch, requests } = createSimulator({
    script: () => answer,
    faults: ({ index }) => (index === 0 ? undefined : { kind: "cut", atByte: index }),
  })
  const first = await (await fetch("http://model/v1/messages", init)).text()
  const whole = Buffer.from(renderAnswer(answer, requests[0]))
  expect(first).toBe(whole.toString())
  for (let atByte = 1; atByte <= whole.length; atByte++) {
    const body = await (await fetch("http://model/v1/messages", init)).arrayBuffer()
    expect(body.byteLength).toBe(atByte)
  }
})

test("a reset breaks the connection after exactly the given bytes", async () => {
  const places = [0, 1, 20, 333, 900]
  await start(places.map((atByte) => ({ kind: "reset", atByte })))
  for (const atByte of places) expect(await ask()).toMatchObject({ status: 200, bytes: atByte, ending: "ECONNRESET" })
})

test("a slow reader still gets every byte before a reset", async () => {
  const { fetch } = createSimulator({ script: () => answer, faults: [{ kind: "reset", atByte: 900 }] })
  const reader = (await fetch("http://model/v1/messages", init)).body?.getReader()
  let bytes = 0
  const readAll = async () => {
    for (;;) {
      bytes += (await reader?.read())?.value?.length ?? 0
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await expect(readAll()).rejects.toThrow("connection reset")
  expect(bytes).toBe(900)
})

test("a stall sends the given bytes and then nothing until the client disconnects", async () => {
  await start([
    { kind: "stall", atByte: 100 },
    { kind: "stall", atByte: 0 },
  ])
  expect(await ask({ leaveAfterBytes: 100 })).toMatchObject({ status: 200, bytes: 100, ending: "left" })
  expect(await ask({ leaveAfterBytes: 0 })).toMatchObject({ status: 200, bytes: 0, ending: "left" })
})

test("a malformed fault replaces one frame's data with invalid JSON", async () => {
  await start([{ kind: "malformed", atFrame: 1 }, { kind: "malformed" }])
  const first = parseEvents((await ask()).text)
  expect(first.map(({ data }) => isJson(data)).indexOf(false)).toBe(1)
  expect(first[1]?.event).toBe("content_block_start")
  const middle = parseEvents((await ask()).text)
  expect(middle.filter(({ data }) => !isJson(data))).toHaveLength(1)
  expect(middle.at(-1)?.event).toBe("message_stop")
})

test("duplicate faults repeat frames that add nothing to text or arguments", async () => {
  await start([{ kind: "duplicate" }])
  const events = parseEvents((await ask()).text)
  const count = (type: string) => events.filter(({ event }) => event === type).length
  expect(["message_start", "ping", "content_block_stop"].map(count)).toEqual([2, 2, 4])
  expect(["content_block_start", "message_delta", "message_stop"].map(count)).toEqual([2, 1, 1])
  expect(textOf(events)).toBe("Grüße aus dem Simulator")
})

test("a slow fault sends a few bytes at a time and finally everything", async () => {
  await start([{ kind: "slow", bytesPerSecond: 20_000 }])
  const received = await ask()
  expect(received.ending).toBe("end")
  expect(textOf(parseEvents(received.text))).toBe("Grüße aus dem Simulator")
  expect(received.chunks).toBeGreaterThan(10)
})

test("a slow fault can send one byte per second", async () => {
  await start([{ kind: "slow", bytesPerSecond: 1 }])
  expect(await ask({ leaveAfterBytes: 0 })).toMatchObject({ status: 200, ending: "left" })
})

test("an error event replaces the rest of the stream", async () => {
  await start([{ kind: "error-event", type: "overloaded_error", message: "Overloaded", atFrame: 3 }])
  const events = parseEvents((await ask()).text)
  expect(events).toHaveLength(4)
  expect(events[3]?.event).toBe("error")
  expect(JSON.parse(events[3]?.data ?? "")).toMatchObject({
    type: "error",
    error: { type: "overloaded_error", message: "Overloaded" },
  })
})

async function start(faults: NonNullable<SimulatorOptions["faults"]>): Promise<void> {
  simulator = createSimulator({ script: () => answer, faults })
  server = await serve(simulator.fetch)
}

interface Received {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly text: string
  readonly bytes: number
  readonly chunks: number
  readonly ending: string
}

function ask({ leaveAfterBytes }: { readonly leaveAfterBytes?: number } = {}): Promise<Received> {
  return new Promise((resolve, reject) => {
    const { body, ...options } = init
    const request = httpRequest(`${server.url}/v1/messages`, options, (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const settle = (ending: string) =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
          bytes,
          chunks: chunks.length,
          ending,
        })
      const leave = () => {
        if (bytes !== leaveAfterBytes) return
        settle("left")
        request.destroy()
      }
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        leave()
      })
      response.on("end", () => settle("end"))
      response.on("error", (error: NodeJS.ErrnoException) => settle(error.code ?? "error"))
      leave()
    })
    request.on("error", reject)
    request.end(body)
  })
}

function parseEvents(text: string): readonly EventSourceMessage[] {
  const events: EventSourceMessage[] = []
  createParser({ onEvent: (event) => events.push(event) }).feed(text)
  return events
}

function textOf(events: readonly EventSourceMessage[]): string {
  return events.map(({ data }) => JSON.parse(data).delta?.text ?? "").join("")
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
