import fc from "fast-check"
import { describe, expect, test, vi } from "vitest"
import { z } from "zod"
import { until } from "../../../test/support/watchdog.ts"
import type { JsonObject, JsonObjectSchema } from "../../contract/json.ts"
import { type Tool, type ToolContext, ToolError } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"
import { defineTool, type ToolDefinition } from "./define-tool.ts"
import { createDispatcher } from "./dispatch.ts"
import { createToolContext } from "./tool-context.ts"

const anything = { type: "object" } as const

function toolThat(run: () => unknown, extra: Partial<ToolDefinition<JsonObjectSchema, JsonObject>> = {}): Tool {
  return defineTool({ name: "tool", description: "A tool.", inputSchema: anything, effect: "none", run, ...extra })
}

function contextWith(signal: AbortSignal = new AbortController().signal): ToolContext {
  return createToolContext({ signal })
}

const thenKey = "then"

describe("a tool that misbehaves", () => {
  const hostile: readonly [string, () => unknown][] = [
    [
      "throws undefined",
      () => {
        throw undefined
      },
    ],
    [
      "throws null",
      () => {
        throw null
      },
    ],
    [
      "throws a string",
      () => {
        throw "text"
      },
    ],
    [
      "throws a proxy",
      () => {
        throw new Proxy({}, { get: fail, getPrototypeOf: fail, has: fail })
      },
    ],
    [
      "throws an error with a hostile name",
      () => {
        throw Object.defineProperty(new Error(), "name", { get: fail })
      },
    ],
    [
      "throws a ToolError with a hostile message",
      () => {
        throw Object.defineProperty(new ToolError("io", ""), "message", { get: fail })
      },
    ],
    ["rejects with a symbol", () => Promise.reject(Symbol("no"))],
    ["returns a thenable that throws", () => thenable(fail)],
    [
      "returns a thenable that rejects, then throws",
      () =>
        thenable((_, reject) => {
          reject(new Error())
          fail()
        }),
    ],
    [
      "returns an object whose then throws when read",
      () => Object.defineProperty({}, thenKey, { get: fail, enumerable: true }),
    ],
    ["returns a proxy", () => new Proxy({}, { get: fail, has: fail, ownKeys: fail })],
    [
      "returns parts whose text throws",
      () => [Object.defineProperty({ type: "text" }, "text", { get: fail, enumerable: true })],
    ],
    [
      "overflows the stack",
      function overflow(): unknown {
        return overflow()
      },
    ],
  ]

  test.each(hostile)("a tool that %s gives an error outcome", { tags: ["FAIL-29"] }, async (_, run) => {
    const logger = { warn: fail }
    const outcome = await createDispatcher([toolThat(run)], { logger }).dispatch(
      { name: "tool", args: {} },
      contextWith(),
    )
    expect(outcome.status).toBe("error")
    expect(JSON.parse(plainText(outcome.output, "")).error.code).toBe("internal")
  })

  test("dispatch never rejects, whatever a tool throws or returns", { tags: ["FAIL-29"] }, async () => {
    const warn = vi.fn()
    await fc.assert(
      fc.asyncProperty(fc.anything({ withBigInt: true, withNullPrototype: true }), fc.nat(3), async (value, way) => {
        const ways = [
          () => {
            throw value
          },
          () => value,
          () => Promise.reject(value),
          async () => value,
        ]
        const dispatcher = createDispatcher([toolThat(ways[way] ?? fail)], { logger: { warn } })
        const outcome = await dispatcher.dispatch({ name: "tool", args: {} }, contextWith())
        expect(["ok", "error"]).toContain(outcome.status)
        expect(outcome.output[0]).toEqual({ type: "text", text: expect.any(String) })
      }),
    )
  })
})

describe("an aborted run", () => {
  test("an aborted run does not start a tool", async () => {
    const run = vi.fn()
    const { text } = await createDispatcher([toolThat(run)]).callTool("tool", {}, contextWith(AbortSignal.abort()))
    expect(JSON.parse(text).error.code).toBe("aborted")
    expect(run).not.toHaveBeenCalled()
  })

  test.each([
    ["none", "error", "tool was stopped while it ran."],
    ["repeatable", "unknown", "tool was stopped while it ran; it may or may not have taken effect."],
    ["once", "unknown", "tool was stopped while it ran; it may or may not have taken effect."],
  ] as const)(
    "an aborted run abandons a tool of effect %s that ignores the signal: %s",
    async (effect, status, message) => {
      const controller = new AbortController()
      const run = vi.fn(() => new Promise(() => {}))
      const dispatcher = createDispatcher([toolThat(run, { effect })])
      const pending = dispatcher.dispatch({ name: "tool", args: {} }, contextWith(controller.signal))
      await until(() => run.mock.calls.length === 1)
      controller.abort()
      const outcome = await pending
      expect(outcome.status).toBe(status)
      expect(JSON.parse(plainText(outcome.output, ""))).toEqual({ error: { code: "aborted", message } })
    },
  )

  test("an aborted call stays aborted when the tool rejects because of it", async () => {
    const controller = new AbortController()
    const run = vi.fn(
      (): Promise<never> =>
        new Promise((_, reject) => controller.signal.addEventListener("abort", () => reject(controller.signal.reason))),
    )
    const pending = createDispatcher([toolThat(run)]).callTool("tool", {}, contextWith(controller.signal))
    await until(() => run.mock.calls.length === 1)
    controller.abort(new Error("secret reason"))
    expect(JSON.parse((await pending).text).error).toEqual({
      code: "aborted",
      message: "tool was stopped while it ran.",
    })
  })

  test("an aborted call ignores the end of an abandoned tool and does not wait for hanging validation", async () => {
    const controller = new AbortController()
    let fails: ((error: Error) => void) | undefined
    const late = toolThat(
      () =>
        new Promise((_, reject) => {
          fails = reject
        }),
    )
    const validate = vi.fn(() => new Promise(() => {}))
    const input = z.object({}).refine(validate)
    const stuck = defineTool({ name: "stuck", description: "Never validates.", inputSchema: input, run: fail })
    const dispatcher = createDispatcher([late, stuck])
    const pending = ["tool", "stuck"].map((name) => dispatcher.callTool(name, {}, contextWith(controller.signal)))
    await until(() => fails !== undefined && validate.mock.calls.length > 0)
    controller.abort()
    for (const { text } of await Promise.all(pending)) expect(JSON.parse(text).error.code).toBe("aborted")
    fails?.(new Error("late"))
    // An unhandled rejection would fail the test run.
    await new Promise((resolve) => setTimeout(resolve))
  })

  test("dispatch adds one listener to a signal, however many calls use it", async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, "addEventListener")
    const dispatcher = createDispatcher([toolThat(async () => "ok")])
    for (let call = 0; call < 20; call++) await dispatcher.callTool("tool", {}, contextWith(signal))
    await Promise.resolve()
    expect(added.mock.calls.length).toBe(1)
  })
})

function fail(): never {
  throw new Error("hostile")
}

function thenable(then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void): unknown {
  return { [thenKey]: then }
}
