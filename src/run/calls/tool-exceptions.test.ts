import { expect, test } from "vitest"
import type { JsonObject, RunEvent, ToolException } from "../../index.ts"
import { createRuntime, defineTool } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"

const KEY = "sk-very-secret-key-0123456789"
const MASK = "{{secret:SERVICE_KEY}}"
const connect = defineTool({
  name: "connect",
  description: "Connects.",
  inputSchema: { type: "object" },
  run() {
    const refused = new Error(`401 for ${KEY}`, { cause: "socket closed" })
    throw new TypeError(`no connection with ${KEY}`, { cause: refused })
  },
})

test("a tool's exception appears only in toolError and at debug, with known secrets redacted", async () => {
  const exceptions: ToolException[] = []
  const logged: Record<"debug" | "warn", [string, JsonObject | undefined][]> = { debug: [], warn: [] }
  const events: RunEvent[] = []
  const store = memoryStore()
  const runtime = createRuntime({
    model: scriptedModel([{ parts: [{ toolCall: { name: "connect", args: {} } }] }, "It failed."]),
    store,
    tools: [connect],
    secrets: {
      SERVICE_KEY: () => KEY,
      BROKEN: () => {
        throw new Error("vault is closed")
      },
    },
    hooks: { toolError: (exception) => void exceptions.push(exception) },
    logger: {
      debug: (message, data) => void logged.debug.push([message, data]),
      warn: (message, data) => void logged.warn.push([message, data]),
    },
  })
  const result = await runtime.run({ task: "x", runId: "r", onEvent: (event) => events.push(event) })
  expect(exceptions).toEqual([
    {
      runId: "r",
      callId: "1.0",
      tool: "connect",
      step: "run",
      name: "TypeError",
      message: "no connection with {{secret:SERVICE_KEY}}",
      stack: expect.stringMatching(
        /^TypeError: no connection with \{\{secret:SERVICE_KEY\}\}\n\s+at .*tool-exceptions\.test/,
      ),
      causes: ["Error: 401 for {{secret:SERVICE_KEY}}", "socket closed"],
    },
  ])
  expect(logged.debug).toContainEqual(["A tool threw an exception.", exceptions[0]])
  expect(logged.warn).toEqual([["A tool failed.", { tool: "connect", code: "internal" }]])
  expect(JSON.stringify([exceptions, logged])).not.toContain(KEY)
  expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
  for (const kept of [result, events]) expect(JSON.stringify(kept)).not.toMatch(/no connection|401 for|socket closed/)
})

test("no part of a secret remains if a long message is cut within it or one secret contains another", async () => {
  const exceptions: ToolException[] = []
  const fail = defineTool({
    name: "fail",
    description: "Fails.",
    inputSchema: { type: "object" },
    run() {
      throw new Error(`${"x".repeat(19_990)}${KEY}`, { cause: `${KEY}-suffix-of-another` })
    },
  })
  const runtime = createRuntime({
    model: scriptedModel([{ parts: [{ toolCall: { name: "fail", args: {} } }] }, "It failed."]),
    tools: [fail],
    secrets: { SHORT: KEY, LONG: `${KEY}-suffix-of-another` },
    hooks: { toolError: (exception) => void exceptions.push(exception) },
  })
  await runtime.run({ task: "x" })
  expect(exceptions).toHaveLength(1)
  expect(JSON.stringify(exceptions)).not.toMatch(/sk-v|suffix/)
})

test("every echo of a secret in an exception is replaced, not only the first", async () => {
  const exceptions: ToolException[] = []
  const fail = defineTool({
    name: "fail",
    description: "Fails.",
    inputSchema: { type: "object" },
    run() {
      throw new Error(`${KEY} is not ${KEY}`, { cause: `${KEY}${KEY}` })
    },
  })
  const runtime = createRuntime({
    model: scriptedModel([{ parts: [{ toolCall: { name: "fail", args: {} } }] }, "It failed."]),
    tools: [fail],
    secrets: { SERVICE_KEY: KEY },
    hooks: { toolError: (exception) => void exceptions.push(exception) },
  })
  await runtime.run({ task: "x" })
  expect(exceptions).toMatchObject([{ message: `${MASK} is not ${MASK}`, causes: [`${MASK}${MASK}`] }])
})

test("neither an unreadable exception nor a throwing toolError hook fails the run", async () => {
  const hostile = Object.create(Error.prototype, {
    message: {
      get() {
        throw new Error("no message")
      },
    },
  })
  const exceptions: ToolException[] = []
  const tools = [hostile, null, { toString: null }].map((thrown, index) =>
    defineTool({
      name: `t${index}`,
      description: "Throws.",
      inputSchema: { type: "object" },
      run: () => {
        throw thrown
      },
    }),
  )
  const calls = tools.map(({ name }) => ({ toolCall: { name, args: {} } }))
  const runtime = createRuntime({
    model: scriptedModel([{ parts: calls }, "Done."]),
    tools,
    hooks: {
      toolError(exception) {
        exceptions.push(exception)
        throw new Error("broken hook")
      },
    },
  })
  expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done" })
  expect(exceptions.map(({ message }) => message)).toEqual([
    "The exception could not be read.",
    "null",
    "The exception could not be read.",
  ])
})
