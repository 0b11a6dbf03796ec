import { describe, expect, test } from "vitest"
import type { Backend } from "../src/contract/backend.ts"
import { LonghaulError } from "../src/contract/error.ts"
import type { RunRecord } from "../src/contract/event.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import type { Store } from "../src/contract/store.ts"
import { createRuntime } from "../src/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { fakeBackend, type SimulatedAnswer, type SimulatedRequest, scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"

const fails = (code: "overloaded" | "auth" | "rate_limited", requestId?: string) => () => {
  throw new LonghaulError(code, `It is ${code}.`, requestId === undefined ? {} : { requestId })
}

function counted() {
  const sent: string[] = []
  const tool = defineTool({
    name: "send",
    description: "Sends.",
    inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    effect: "once",
    risk: "low",
    run: ({ to }: { to: string }) => `letter ${sent.push(to)} to ${to}`,
  })
  return { sent, tool }
}

/** Sends a letter, then fails. */
function sendsThenFails({ lastToolResults }: SimulatedRequest): SimulatedAnswer {
  if (lastToolResults.length > 0) throw new LonghaulError("overloaded", "It is overloaded.", { requestId: "req_2" })
  return { parts: [{ toolCall: { name: "send", args: { to: "Ada" } } }] }
}

/** Answers with what it finds about the letter in its conversation. */
const tellsLetter = ({ messages }: SimulatedRequest) =>
  `I read: ${/letter \d to \w+/.exec(JSON.stringify(messages))?.[0] ?? "nothing"}`

async function run(config: Partial<RuntimeConfig>, task = "Send a letter to Ada.") {
  const runtime = createRuntime({ store: memoryStore(), ...config })
  const result = await runtime.run({ task })
  const records: RunRecord[] = []
  for await (const record of runtime.events(result.runId)) records.push(record)
  return { runtime, result, records, of: (type: string) => records.filter((record) => record.type === type) }
}

describe("a chain", () => {
  test("a retryable failure continues on the next entry, and the history lists the attempt", {
    tags: ["FAIL-05", "FAIL-06"],
  }, async () => {
    const first = fakeBackend({ name: "first", script: fails("overloaded", "req_1") })
    const second = fakeBackend({ name: "second", script: () => "Done elsewhere." })
    const { result, of } = await run({ chain: [{ backend: first, model: "a" }, { backend: second }] })
    expect(result).toMatchObject({ status: "done", text: "Done elsewhere.", backend: "second" })
    expect(result.failover).toEqual([
      { backend: "first", model: "a", code: "overloaded", retryable: true, requestId: "req_1" },
    ])
    expect(of("failover")).toMatchObject([
      { from: { backend: "first", model: "a" }, to: { backend: "second" }, failure: { code: "overloaded" } },
    ])
    expect(of("choice")).toMatchObject([
      { backend: "first", entry: 0 },
      { backend: "second", entry: 1, reasons: ["It is the next entry of the chain."] },
    ])
  })

  test("the next entry continues after the effects of the first, and repeats none", { tags: ["FAIL-07"] }, async () => {
    const { sent, tool } = counted()
    const first = fakeBackend({ name: "first", script: sendsThenFails })
    const second = fakeBackend({ name: "second", script: tellsLetter })
    const { result } = await run({ tools: [tool], chain: [{ backend: first }, { backend: second }] })
    expect(result).toMatchObject({ status: "done", text: "I read: letter 1 to Ada" })
    expect(sent).toEqual(["Ada"])
    expect(result.failover).toMatchObject([{ backend: "first", requestId: "req_2" }])
  })

  test("the conversation goes over as messages from a vendor's session to our own loop", async () => {
    const { sent, tool } = counted()
    const first = fakeBackend({ name: "first", script: sendsThenFails })
    const model = scriptedModel([
      (messages) => `I read: ${/letter \d to \w+/.exec(JSON.stringify(messages))?.[0]} in ${messages.length} messages`,
    ])
    const { result } = await run({ tools: [tool], chain: [{ backend: first }, { backend: "native", model }] })
    expect(result).toMatchObject({ status: "done", backend: "native", text: "I read: letter 1 to Ada in 3 messages" })
    expect(sent).toEqual(["Ada"])
  })

  test("a message that the failing backend never passed on is in the conversation of the next entry, once", async () => {
    const failing = fakeBackend({
      name: "first",
      script: () => {
        expect(handle.steer("Mind the tide.")).toBe(true)
        throw new LonghaulError("overloaded", "It is overloaded.")
      },
    })
    const model = scriptedModel([(messages) => `I read: ${JSON.stringify(messages).match(/Mind the tide/g)}`])
    const runtime = createRuntime({
      store: memoryStore(),
      chain: [{ backend: failing }, { backend: "native", model }],
    })
    const handle = runtime.stream({ task: "Sail." })
    expect(await handle.result).toMatchObject({ status: "done", text: "I read: Mind the tide" })
    expect(model.calls).toHaveLength(1)
  })

  test("a failure that would repeat elsewhere ends the run at once", { tags: ["FAIL-08"] }, async () => {
    let used = 0
    const first = fakeBackend({ name: "first", script: fails("auth") })
    const second = fakeBackend({ name: "second", script: () => String(used++) })
    const { result, of } = await run({ chain: [{ backend: first }, { backend: second }] })
    expect(result).toMatchObject({ status: "failed", error: { code: "auth" }, failover: [{ code: "auth" }] })
    expect(of("failover")).toHaveLength(1)
    expect(used).toBe(0)
  })

  test("a cancelled run does not continue elsewhere", { tags: ["FAIL-09"] }, async () => {
    let used = 0
    const abort = new AbortController()
    const first = fakeBackend({
      name: "first",
      script: () => {
        abort.abort()
        return new Promise<never>(() => {})
      },
    })
    const second = fakeBackend({ name: "second", script: () => String(used++) })
    const runtime = createRuntime({ store: memoryStore(), chain: [{ backend: first }, { backend: second }] })
    const result = await runtime.run({ task: "Wait.", signal: abort.signal })
    expect(result).toMatchObject({ status: "cancelled", failover: [] })
    expect(used).toBe(0)
  })

  test("an exhausted chain has its own code and lists every attempt", { tags: ["FAIL-10"] }, async () => {
    const chain = ["a", "b", "c"].map((name) => ({ backend: fakeBackend({ name, script: fails("rate_limited") }) }))
    const { result } = await run({ chain })
    expect(result).toMatchObject({ status: "failed", error: { code: "providers_exhausted" } })
    expect(result.failover.map(({ backend, code }) => `${backend} ${code}`)).toEqual([
      "a rate_limited",
      "b rate_limited",
      "c rate_limited",
    ])
  })

  test("an entry without a required feature is skipped and listed", { tags: ["CAP-14", "FAIL-11"] }, async () => {
    const first = fakeBackend({ name: "first", script: () => "first" })
    const second = fakeBackend({
      name: "second",
      script: () => "second",
      capabilities: { features: ["mcp", "vision"] },
    })
    const { result } = await run({
      chain: [
        { backend: first, requires: ["mcp"] },
        { backend: second, requires: ["mcp"] },
      ],
    })
    expect(result).toMatchObject({ status: "done", text: "second" })
    expect(result.failover).toMatchObject([{ backend: "first", code: "capability_mismatch" }])
  })

  test("a call that a failed backend had begun is flagged for the next one, and not repeated", async () => {
    const written: unknown[] = []
    const lost: Backend = {
      ...fakeBackend({
        name: "lost",
        script: () => ({ parts: [{ toolCall: { name: "Write", args: { path: "a" } } }] }),
        write(args) {
          written.push(args)
          throw new LonghaulError("backend_crashed", "It is gone.")
        },
      }),
    }
    const second = fakeBackend({ name: "second", script: ({ messages }) => JSON.stringify(messages) })
    const { result } = await run({ chain: [{ backend: lost }, { backend: second }] })
    expect(written).toHaveLength(1)
    expect(result.toolCalls).toMatchObject([{ name: "Write", status: "unknown" }])
    expect(result.text).toContain("may or may not have taken effect")
  })

  test("a resumed run continues with the entry that it used last; an exhausted one with the first", async () => {
    const store = memoryStore()
    let isDown = true
    const down = (name: string) => () => {
      if (isDown) throw new LonghaulError("overloaded", "It is overloaded.")
      return `${name} is back`
    }
    const chain = ["a", "b"].map((name) => ({ backend: fakeBackend({ name, script: down(name) }) }))
    const failed = await createRuntime({ store, chain }).run({ task: "Try." })
    expect(failed.error?.code).toBe("providers_exhausted")
    isDown = false
    const resumed = await createRuntime({ store, chain }).resume({ runId: failed.runId })
    expect(resumed).toMatchObject({ status: "done", text: "a is back", backend: "a" })
  })

  test.each([
    ["an empty chain", { chain: [] }, "chain is empty."],
    ["an unknown backend", { chain: ["nowhere/model"] }, 'model is "nowhere/model", which is not a model.'],
  ])("%s is config_invalid with a fix", async (_, config, message) => {
    const result = await createRuntime({ store: memoryStore(), ...config }).run({ task: "x" })
    expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid", fix: expect.any(String) } })
    expect(result.error?.message).toBe(message)
  })

  test.each([
    ["a backend that is not one", { backend: {} as never }, "backend has no name."],
    ["an unknown name", { backend: "nowhere" }, 'There is no backend "nowhere".'],
    ["an entry of the wrong type", { chain: [3 as never] }, "chain[0] is a number, not a text or an object."],
  ])("%s is refused when the runtime is created", (_, config, message) => {
    expect(() => createRuntime(config)).toThrow(expect.objectContaining({ code: "config_invalid", message }))
  })
})

test("a journal that is lost while a run moves on ends it as storage, and the next backend does nothing", async () => {
  let used = 0
  let isFull = false
  const memory = memoryStore()
  const full = () => {
    if (isFull) throw new LonghaulError("storage", "The disk is full.")
  }
  const store: Store = {
    ...memory,
    folder(path) {
      const folder = memory.folder(path)
      return {
        ...folder,
        create: async (name, bytes) => {
          full()
          return folder.create(name, bytes)
        },
        ...(folder.append && {
          append: {
            ...folder.append,
            open: async (name, bytes) => {
              const file = await folder.append?.open(name, bytes)
              if (!file) return null
              return {
                ...file,
                write: async (chunk: Uint8Array) => {
                  full()
                  return file.write(chunk)
                },
              }
            },
          },
        }),
      } as typeof folder // Safe: the same members, some of which fail.
    },
  }
  const first = fakeBackend({
    name: "first",
    script() {
      isFull = true
      throw new LonghaulError("overloaded", "Try later.")
    },
  })
  const second = fakeBackend({ name: "second", script: () => String(used++) })
  const result = await createRuntime({ store, chain: [{ backend: first }, { backend: second }] }).run({ task: "x" })
  expect(result).toMatchObject({ status: "failed", error: { code: "storage" } })
  expect(used).toBe(0)
})
