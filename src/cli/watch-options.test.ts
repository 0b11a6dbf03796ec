import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import type { JsonObject } from "../contract/json.ts"

const { place, start, longhaul, simulate } = commandLine()

const call = (name: string, args: JsonObject) => ({ parts: [{ toolCall: { name, args } }] })
const linesOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly type?: string; readonly status?: string; readonly delta?: string })

describe("--stream-json", () => {
  test("run --stream-json writes one event per line, and the result as the last line", async () => {
    await simulate({
      script: ({ lastToolResults: [read] }) => (read ? "At 04:17." : call("Read", { path: "tide.txt" })),
    })
    const { code, stdout, stderr } = await longhaul(["run", "--stream-json", "When is high water?"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const lines = linesOf(stdout)
    expect(lines.flatMap(({ type }) => (type?.startsWith("tool-") || type?.startsWith("run-") ? [type] : []))).toEqual([
      "run-start",
      "tool-call",
      "tool-result",
      "run-end",
    ])
    expect(lines.flatMap(({ type, delta }) => (type === "text-delta" ? [delta] : [])).join("")).toBe("At 04:17.")
    expect(lines.at(-1)).toMatchObject({ status: "done", text: "At 04:17." })
  })

  test("resume and chat --stream-json write the same, with one result per exchange", async () => {
    await simulate({
      script: ({ lastToolResults: [written] }) =>
        written ? "Written." : call("Write", { path: "a.txt", content: "x" }),
    })
    const paused = await longhaul(["run", "--stream-json", "--ask", "Write", "--run-id", "r", "Write it"])
    expect(paused.code).toBe(3)
    expect(linesOf(paused.stdout).slice(-2)).toMatchObject([{ type: "run-pause" }, { status: "paused" }])
    const resumed = linesOf((await longhaul(["approve", "r", "--stream-json"])).stdout)
    expect(resumed[0]).toMatchObject({ type: "run-resume" })
    expect(resumed.at(-1)).toMatchObject({ status: "done" })

    const chat = start(["chat", "--stream-json"])
    chat.child.stdin.end("Hello\nHello again\n")
    const lines = linesOf((await chat.ended).stdout)
    expect(lines.filter(({ type }) => type === "run-start")).toHaveLength(2)
    expect(lines.filter(({ status, type }) => status === "done" && type === undefined)).toHaveLength(2)
  })

  test("--stream-json prints a failed result for a run that cannot start, and usage errors keep exit code 2", async () => {
    const failed = await longhaul(["run", "--stream-json", "--max-turns", "x", "Hello"])
    expect(failed.code).toBe(2)
    expect(JSON.parse(failed.stdout)).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
  })
})

describe("--debug", () => {
  const program = `export default {
    tools: [{
      name: "Sound", description: "Sounds the depth.", effect: "none", concurrent: true, risk: "low",
      inputSchema: { type: "object" },
      run() { throw new Error("the lead line broke at " + process.env.ANTHROPIC_API_KEY, { cause: new Error("rot\\u202e") }) },
    }],
  }`
  const sounding = {
    script: ({ lastToolResults: [sounded] }: { readonly lastToolResults: readonly { readonly text: string }[] }) =>
      sounded ? `Got: ${sounded.text}` : call("Sound", {}),
  }

  test("--debug logs a tool's exception with stack and cause to stderr, without secrets and hidden characters", async () => {
    const { requests } = await simulate(sounding)
    await writeFile(join(place.workspace, "own.js"), program)
    const args = ["run", "--config", "own.js", "--quiet", "Sound the depth"]
    const variables = { ANTHROPIC_API_KEY: "sk-lead-line-12345678" }
    const { code, stdout, stderr } = await longhaul([...args, "--debug"], variables)
    expect(code).toBe(0)
    expect(stderr).toContain("the lead line broke at")
    expect(stderr).toMatch(/^ {4}at .*own\.js/m)
    expect(stderr).toContain("rot\ufffd")
    expect(stderr).not.toContain("sk-lead-line")
    expect(`${stdout}${JSON.stringify(requests.map(({ messages }) => messages))}`).not.toContain("lead line")
    expect((await longhaul(args, variables)).stderr).toBe("")
  })
})
