import { expect, test, vi } from "vitest"
import { fetchTransport } from "./fetch-transport.ts"

const silent = { head() {}, chunk() {} }

test("each request has its own signal, so that listeners do not accumulate on a long-lived one", async () => {
  const run = new AbortController()
  const listening = vi.spyOn(run.signal, "addEventListener")
  const signals: (AbortSignal | null | undefined)[] = []
  const transport = fetchTransport(async (_url, init) => {
    signals.push(init?.signal)
    return new Response("ok")
  })
  const request = { url: "https://api.example/", headers: {}, body: new Uint8Array(), signal: run.signal }
  for (let time = 0; time < 3; time++) await transport.stream(request, silent)
  expect(new Set(signals).size).toBe(3)
  expect(signals).not.toContain(run.signal)
  expect(listening).toHaveBeenCalledTimes(1)
  run.abort()
  expect(signals.map((signal) => signal?.aborted)).toEqual([false, false, false])
})

test("an abort reaches the active request", async () => {
  const run = new AbortController()
  const transport = fetchTransport(
    (_url, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason))
      }),
  )
  const request = { url: "https://api.example/", headers: {}, body: new Uint8Array(), signal: run.signal }
  const streaming = transport.stream(request, silent)
  run.abort("enough")
  await expect(streaming).rejects.toMatchObject({ code: "network", cause: "enough" })
})

test("a redirect is not followed: it is the response on the first request, later and after a failure", async () => {
  const answers: (() => Response)[] = [
    () => new Response(null, { status: 307 }),
    () => new Response("ok"),
    () => new Response("ok"),
    () => {
      throw new TypeError("fetch failed")
    },
    // As a browser shows one.
    () => Response.error(),
    () => new Response("ok"),
  ]
  const asked: RequestInit["redirect"][] = []
  const statuses: number[] = []
  const transport = fetchTransport(async (_url, init) => {
    asked.push(init?.redirect)
    return (answers.shift() as () => Response)()
  })
  const request = { url: "https://api.example/", headers: {}, body: new Uint8Array() }
  while (answers.length > 0) {
    await transport.stream(request, { ...silent, head: (status) => statuses.push(status) }).catch(() => {})
  }
  expect(asked).toEqual(["manual", "manual", "error", "error", "manual", "manual"])
  expect(statuses).toEqual([307, 200, 200, 302, 200])
})
