import fc from "fast-check"
import { describe, expect, test } from "vitest"
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

async function textOf(tool: Tool): Promise<string> {
  return (await createDispatcher([tool]).callTool("tool", {}, contextWith())).text
}

describe("output limits", () => {
  test("output is cut at maxOutputBytes on a character boundary, with a last line that says so", {
    tags: ["TOOL-25"],
  }, async () => {
    const dispatcher = createDispatcher([toolThat(() => "é".repeat(1000))], { maxOutputBytes: 101 })
    const { isError, text } = await dispatcher.callTool("tool", {}, contextWith())
    expect(isError).toBe(false)
    expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(101)
    const [kept = "", marker] = text.split("\n")
    expect(kept).toMatch(/^é+$/)
    expect(marker).toBe(`[cut: ${2000 - kept.length * 2} bytes omitted]`)
  })

  test("output is cut at 100,000 characters by default", { tags: ["LOOP-05"] }, async () => {
    const text = await textOf(toolThat(() => "x".repeat(100_001)))
    expect(text.length).toBeLessThanOrEqual(100_000)
    expect(text).toMatch(/x\n\[cut: \d+ bytes omitted\]$/)
    expect(await textOf(toolThat(() => "x".repeat(100_000)))).toBe("x".repeat(100_000))
  })

  test("output is cut at 256 KB by default, if that is less than 100,000 characters", {
    tags: ["OFF-01"],
  }, async () => {
    const cap = 256 * 1024
    const bytesIn = (text: string) => new TextEncoder().encode(text).length
    const text = await textOf(toolThat(() => "潮".repeat(90_000)))
    expect(bytesIn(text)).toBeLessThanOrEqual(cap)
    expect(bytesIn(text)).toBeGreaterThan(cap - 100)
    expect(text).toMatch(/潮\n\[cut: \d+ bytes omitted\]$/)
    const exact = `${"潮".repeat(87_381)}x`
    expect(bytesIn(exact)).toBe(cap)
    expect(await textOf(toolThat(() => exact))).toBe(exact)
    expect(await textOf(toolThat(() => `${exact}x`))).toContain("bytes omitted")
  })

  test("a tool's own limit applies if it is lower, never if it is higher", async () => {
    const run = (): string => "x".repeat(1000)
    const low = createDispatcher([toolThat(run, { maxOutputBytes: 100 })])
    expect((await low.callTool("tool", {}, contextWith())).text).toHaveLength(
      100 - 48 + 1 + "[cut: 948 bytes omitted]".length,
    )
    const high = createDispatcher([toolThat(run, { maxOutputBytes: 5000 })], { maxOutputBytes: 200 })
    expect((await high.callTool("tool", {}, contextWith())).text.length).toBeLessThanOrEqual(200)
  })

  test("parts of one result share one limit", async () => {
    const parts = ["a", "b", "c"].map((letter) => ({ type: "text", text: letter.repeat(60) }))
    const dispatcher = createDispatcher([toolThat(() => parts)], { maxOutputBytes: 148 })
    const { output } = await dispatcher.dispatch({ name: "tool", args: {} }, contextWith())
    expect(output.map((part) => plainText([part], ""))).toEqual([
      "a".repeat(60),
      `${"b".repeat(40)}\n[cut: 80 bytes omitted]`,
    ])
  })

  test("a saved text shows both its ends and its path, within any limit", async () => {
    const bytesIn = (text: string) => new TextEncoder().encode(text).length
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "grapheme", minLength: 100, maxLength: 400 }).map((text) => text.replace(/\s/g, "_")),
        fc.integer({ min: 85, max: 300 }),
        async (given, maxOutputBytes) => {
          let whole: string | undefined
          const dispatcher = createDispatcher([toolThat(() => given)], { maxOutputBytes })
          const { text } = await dispatcher.callTool("tool", {}, contextWith(), ({ bytes }) => {
            whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
            return "/kept"
          })
          expect(bytesIn(text)).toBeLessThanOrEqual(maxOutputBytes)
          expect(whole).toBe(bytesIn(given) > maxOutputBytes ? given : undefined)
          if (whole === undefined) return
          const [head = "", missing, tail = ""] = text.split(
            /\n?\[cut: (\d+) bytes omitted; the complete output is at \/kept\]\n?/,
          )
          expect(given.startsWith(head) && given.endsWith(tail)).toBe(true)
          expect(Number(missing)).toBe(bytesIn(given) - bytesIn(head) - bytesIn(tail))
        },
      ),
    )
  })

  test("saved parts show the beginning of the first and the end of the last", async () => {
    const parts = ["a", "b", "c"].map((letter) => ({ type: "text", text: letter.repeat(90) }))
    const dispatcher = createDispatcher([toolThat(() => parts)], { maxOutputBytes: 171 })
    const { text } = await dispatcher.callTool("tool", {}, contextWith(), () => "/kept")
    expect(text).toBe(`${"a".repeat(45)}\n[cut: 180 bytes omitted; the complete output is at /kept]\n${"c".repeat(45)}`)
  })

  test("a limit too low for the path still reports the omitted bytes", async () => {
    const dispatcher = createDispatcher([toolThat(() => "x".repeat(500))], { maxOutputBytes: 100 })
    const { text } = await dispatcher.callTool("tool", {}, contextWith(), () => `/${"long/".repeat(30)}`)
    expect(text).toBe(`${"x".repeat(52)}\n[cut: 448 bytes omitted]`)
  })

  test("any text stays within any limit, and errors stay valid JSON", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary", maxLength: 400 }),
        fc.integer({ min: 60, max: 300 }),
        fc.boolean(),
        async (text, maxOutputBytes, fails) => {
          const run = (): string => {
            if (fails) throw new ToolError("io", text)
            return text
          }
          const result = await createDispatcher([toolThat(run)], { maxOutputBytes }).callTool("tool", {}, contextWith())
          expect(new TextEncoder().encode(result.text).length).toBeLessThanOrEqual(maxOutputBytes)
          if (fails) expect(JSON.parse(result.text).error.code).toBe("io")
        },
      ),
    )
  })
})
