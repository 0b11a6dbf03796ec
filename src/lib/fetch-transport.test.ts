import { expect, test, vi } from "vitest"
import { fetchTransport } from "./fetch-transport.ts"

const silent = { head() {}, chunk() {} }

test("each request has a signal of its own, so that nothing piles up on one that outlives them", async () => {
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

test("an abort reaches the request that is under way", async () => {
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
