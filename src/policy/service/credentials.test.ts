import { expect, test } from "vitest"
import { tokenSource } from "./credentials.ts"

const credentials = { clientId: "client", clientSecret: "secret" }

/** A service whose answer the test triggers. */
function service() {
  const signals: AbortSignal[] = []
  let answer = () => {}
  const fetch = (_: unknown, init?: RequestInit) =>
    new Promise<Response>((resolve, reject) => {
      const { signal } = init ?? {}
      if (signal) signals.push(signal)
      signal?.addEventListener("abort", () => reject(signal.reason))
      const token = { access_token: `token-${signals.length}`, token_type: "Bearer", expires_in: 3600 }
      answer = () => resolve(Response.json(token))
    })
  const source = tokenSource(credentials, new URL("https://policy.example/"), { fetch, timeoutMs: 2_000_000 })
  return { source, signals, answer: () => answer() }
}

test("a request for a token that two calls wait for goes on while one of them does", async () => {
  const { source, signals, answer } = service()
  const [one, other] = [new AbortController(), new AbortController()]
  const aborted = source.token(one.signal)
  const waiting = source.token(other.signal)
  one.abort()
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  answer()
  expect(await Promise.all([aborted, waiting])).toEqual(["token-1", "token-1"])
})

test("a request for a token ends with the last call that waits for it, and the next call begins its own", async () => {
  const { source, signals, answer } = service()
  const stop = new AbortController()
  const both = [source.token(stop.signal), source.token(stop.signal)]
  stop.abort()
  for (const each of both) await expect(each).rejects.toThrow("was not waited for")
  const next = source.token()
  answer()
  expect(await next).toBe("token-2")
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
})
