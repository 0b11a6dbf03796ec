import { afterEach, describe, expect, test, vi } from "vitest"
import type { ExtensionRun } from "../src/contract/extension.ts"
import { send } from "../src/extensions/api/send.ts"
import { serverRequests } from "../src/extensions/mcp/server-requests.ts"
import { createRuntime } from "../src/hosts/node/index.ts"
import { exchange } from "../src/policy/service/exchange.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { collectGarbage } from "./support/collect-garbage.ts"

/** Starts to wait for an answer that never comes. `onSignal` gets the signal by which that wait can be ended. */
type Wait = (caller: AbortSignal, onSignal: (signal: AbortSignal) => void) => Promise<unknown>

const LIMIT_MS = 300_000

/** Never answers, like a host's own fetch that fails only when its signal aborts. */
const unanswered =
  (onSignal: (signal: AbortSignal) => void): typeof fetch =>
  (_, init) =>
    new Promise((_, reject) => {
      const signal = init?.signal
      if (!signal) throw new Error("The request has no signal")
      signal.addEventListener("abort", () => reject(signal.reason))
      onSignal(signal)
    })

const waits: Readonly<Record<string, Wait>> = {
  "ApiCall over the host's own fetch": (signal, onSignal) =>
    send(
      {
        service: "s",
        url: new URL("https://s.example/"),
        method: "GET",
        body: undefined,
        effect: "none",
        headers: {},
        allowPrivate: false,
        maxBytes: 1000,
        timeoutMs: LIMIT_MS,
        signal,
      },
      { fetch: unanswered(onSignal), guarded: undefined },
    ),
  "a policy service": (signal, onSignal) =>
    exchange({ fetch: unanswered(onSignal), timeoutMs: LIMIT_MS }, new URL("https://p.example/"), {}, "{}", signal),
  "a person whom an MCP server asks": (signal, onSignal) => {
    // Without what a question does not use.
    const run = { runId: "r", cwd: "/", env: {}, signal } as unknown as ExtensionRun
    let asked: Promise<unknown> = Promise.reject(new Error("not registered"))
    asked.catch(() => {})
    const { register } = serverRequests(
      run,
      "s",
      { url: "https://s.example" },
      {
        elicit: (_, { signal: limit }) =>
          new Promise(() => {
            onSignal(limit)
          }),
      },
    )
    register({
      setRequestHandler(method: string, handle: (request: object) => Promise<unknown>) {
        if (method === "elicitation/create") asked = handle({ params: { message: "?", requestedSchema: {} } })
      },
    } as never)
    return asked
  },
}

afterEach(() => {
  vi.useRealTimers()
})

describe.each(Object.entries(waits))("the wait for %s, whose signal nothing else refers to,", (_, wait) => {
  test.each(["its time limit", "the caller's abort"])(
    "the wait ends with %s after a garbage collection",
    async (end) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
      const caller = new AbortController()
      let isAborted = false
      await new Promise<void>((resolve) => {
        const waiting = wait(caller.signal, (signal) => {
          signal.addEventListener("abort", () => {
            isAborted = true
          })
          resolve()
        })
        waiting.catch(() => {})
      })
      await collectGarbage()
      expect(isAborted).toBe(false)
      if (end === "its time limit") vi.advanceTimersByTime(LIMIT_MS)
      else caller.abort()
      expect(isAborted).toBe(true)
    },
  )
})

test("an extension's wait for the signal of its run ends with the run's abort after a garbage collection", async () => {
  const seen: string[] = []
  let open: () => void = () => {}
  const opening = new Promise<void>((resolve) => {
    open = resolve
  })
  const runtime = createRuntime({
    store: memoryStore(),
    model: scriptedModel(["never asked"]),
    tools: [],
    extensions: [
      {
        name: "waiting",
        open: ({ signal }) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              seen.push("aborted")
              resolve({})
            })
            open()
          }),
      },
    ],
  })
  const stop = new AbortController()
  const running = runtime.run({ task: "Go.", signal: stop.signal })
  await opening
  await collectGarbage()
  stop.abort()
  // Aborts are delivered at once: no wait is needed to see that one is lost.
  expect(seen).toEqual(["aborted"])
  expect(await running).toMatchObject({ status: "cancelled" })
  await runtime.close()
})
