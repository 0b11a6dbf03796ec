import { expect, test } from "vitest"
import { serverFetch } from "./http-fetch.ts"

const MEGABYTE = new Uint8Array(1024 * 1024).fill(97)

/** A server that sends without end; `taken` counts the megabytes that were read from it. */
function endless(type: string, ending = "") {
  const counts = { taken: 0 }
  const end = new TextEncoder().encode(ending)
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (counts.taken++ >= 900) return controller.close()
        controller.enqueue(MEGABYTE)
        if (end.length > 0) controller.enqueue(end)
      },
    },
    { highWaterMark: 0 },
  )
  const fetch = serverFetch({ url: "https://a.example", seen() {} }, async () => {
    return new Response(body, { headers: { "content-type": type } })
  })
  return { fetch, counts }
}

test.each(["application/json", "text/event-stream"])(
  "an answer of 900 MB as %s fails before it fills the memory",
  async (type) => {
    const { fetch, counts } = endless(type)
    const response = await fetch("https://a.example")
    await expect(response.text()).rejects.toThrow("more than 33554432 bytes")
    expect(counts.taken).toBeLessThan(40)
  },
)

test.each(["\n\n", "\r\n\r\n"])("a stream of many events, each ended by %j, goes on", async (ending) => {
  const { fetch } = endless("text/event-stream", ending)
  const response = await fetch("https://a.example")
  let megabytes = 0
  for await (const chunk of response.body ?? []) megabytes += chunk.length / MEGABYTE.length
  expect(megabytes).toBeGreaterThan(900)
})

test("a response keeps its status, headers and address", async () => {
  const fetch = serverFetch({ url: "https://a.example", seen() {} }, async () => {
    const response = new Response("{}", { status: 202, headers: { "mcp-session-id": "s" } })
    Object.defineProperty(response, "url", { value: "https://a.example/x" })
    return response
  })
  const response = await fetch("https://a.example")
  expect([response.status, response.headers.get("mcp-session-id"), response.url]).toEqual([
    202,
    "s",
    "https://a.example/x",
  ])
})
