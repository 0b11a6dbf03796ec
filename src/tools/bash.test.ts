import { readFileSync } from "node:fs"
import { afterAll, describe, expect, test, vi } from "vitest"
import { countLiving, isRunning, ShellScene, uniqueSleep } from "../../test/support/shell-scene.ts"
import { until } from "../../test/support/watchdog.ts"
import type { Shell, ShellResult } from "../contract/env.ts"
import type { JsonObject } from "../contract/json.ts"
import type { ToolContext } from "../contract/tool.ts"
import { createRuntime as forNode } from "../hosts/node/index.ts"
import { createRuntime as portable } from "../index.ts"
import { memoryStore } from "../stores/memory.ts"
import { scriptedModel } from "../testing/index.ts"
import { bashTool, createDispatcher, fileTools } from "./index.ts"
import { createToolContext } from "./kernel/tool-context.ts"

const tools = [bashTool()]
const dispatcher = createDispatcher(tools)
const ended: ShellResult = {
  text: "out\n",
  bytes: 4,
  leftOutBytes: 0,
  exitCode: 0,
  running: false,
  endedBy: "exit",
  durationMs: 1234,
}

function contextWith(shell: Shell | undefined, more: Partial<ToolContext> = {}): ToolContext {
  return { ...createToolContext({ cwd: "/work" }), ...(shell && { env: { shell } }), ...more }
}

/** Ends every command in the same way. */
function shellThat(result: Partial<ShellResult>, containment: Shell["containment"] = "sandbox"): Shell {
  const answer = { ...ended, ...result }
  return {
    containment,
    run: vi.fn(async () => answer),
    start: vi.fn(async () => ({ shellId: "shell_1" })),
    poll: async () => answer,
    stop: async () => answer,
    close: async () => {},
  }
}

async function textOf(result: Partial<ShellResult>, containment?: Shell["containment"]): Promise<string> {
  const { isError, text } = await dispatcher.callTool(
    "Bash",
    { command: "x" },
    contextWith(shellThat(result, containment)),
  )
  expect(isError).toBe(false)
  return text
}

async function errorOf(result: Partial<ShellResult>, containment?: Shell["containment"]) {
  const { isError, text } = await dispatcher.callTool(
    "Bash",
    { command: "x" },
    contextWith(shellThat(result, containment)),
  )
  expect(isError).toBe(true)
  return (JSON.parse(text) as { error: { code: string; message: string } }).error
}

describe("Bash", () => {
  test.each([
    ["the portable runtime", portable],
    ["the runtime for Node", forNode],
  ])(
    "Bash is not among the tools that %s offers by default, and is where the host adds it",
    { tags: ["TOOL-17"] },
    async (_, create) => {
      const offered: string[][] = []
      const model = scriptedModel(
        Array.from({ length: 3 }, () => (_messages, { tools }) => {
          offered.push(tools.map(({ name }) => name))
          return "Done."
        }),
      )
      const place = { model, store: memoryStore(), workspace: import.meta.dirname }
      for (const tools of [{}, { tools: fileTools() }, { tools: [...fileTools(), bashTool()] }]) {
        const runtime = create({ ...place, ...tools })
        expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done" })
        await runtime.close()
      }
      expect(offered.map((names) => names.includes("Bash"))).toEqual([false, false, true])
      expect(offered[1]).toContain("Read")
    },
  )

  test("a call of Bash where it was not added is answered as an unknown tool, and starts nothing", {
    tags: ["TOOL-17"],
  }, async () => {
    const step = { parts: [{ toolCall: { name: "Bash", args: { command: "exit 1" } } }] }
    const model = scriptedModel([step, "Done."])
    const runtime = forNode({ model, store: memoryStore(), workspace: import.meta.dirname })
    const { toolCalls } = await runtime.run({ task: "x" })
    await runtime.close()
    expect(toolCalls).toMatchObject([{ name: "Bash", status: "error", result: expect.stringContaining("not_found") }])
  })

  test("Bash is never repeated automatically, runs alone and has high risk", () => {
    expect(
      tools.map(({ name, effect, concurrent, risk, bounded }) => [name, effect, concurrent, risk, bounded]),
    ).toEqual([["Bash", "once", false, "high", true]])
  })

  test.each([[{ command: "x" }], [{ shellId: "x" }], [{ shellId: "x", stop: true }]])(
    "Bash with %j reports that there is no shell",
    async (args) => {
      const { isError, text } = await dispatcher.callTool("Bash", args, contextWith(undefined))
      expect(isError).toBe(true)
      expect(JSON.parse(text)).toEqual({ error: { code: "denied", message: "This environment has no shell." } })
    },
  )

  test.each([[{}], [{ stop: true }], [{ command: "x", shellId: "y" }], [{ command: "x", stop: true }]])(
    "%j is neither a command nor a query for one",
    async (args) => {
      const { isError, text } = await dispatcher.callTool("Bash", args, contextWith(shellThat({})))
      expect(isError).toBe(true)
      expect(text).toContain("invalid_input")
    },
  )

  test("Bash passes on directory, timeout and limits, and reports output as progress", async () => {
    const shell = shellThat({})
    const progress = vi.fn()
    await dispatcher.callTool("Bash", { command: "ls -l" }, contextWith(shell, { progress }))
    expect(shell.run).toHaveBeenCalledWith({
      command: "ls -l",
      cwd: "/work",
      timeoutMs: 120_000,
      maxOutputBytes: 32_768,
      signal: expect.any(AbortSignal),
      onOutput: expect.any(Function),
    })
    vi.mocked(shell.run).mock.calls[0]?.[0].onOutput?.("so far")
    expect(progress).toHaveBeenCalledWith("so far")
  })

  test.each([{ timeoutMs: 600_001 }, { timeoutMs: 0 }, { command: "" }, { other: 1 }])(
    "Bash rejects %j",
    async (args: JsonObject) => {
      const shell = shellThat({})
      const { isError, text } = await dispatcher.callTool("Bash", { command: "x", ...args }, contextWith(shell))
      expect([isError, JSON.parse(text).error.code]).toEqual([true, "invalid_input"])
      expect(shell.run).not.toHaveBeenCalled()
    },
  )

  test("Bash returns the output and a last line with exit status and containment", async () => {
    expect(await textOf({})).toBe("out\n[exit 0 after 1.2 s; containment: sandbox]")
    expect(await textOf({ exitCode: 2, text: "no newline" }, "best-effort")).toBe(
      "no newline\n[exit 2 after 1.2 s; containment: best-effort]",
    )
    expect(await textOf({ text: "", exitCode: null, endedBy: "signal", signalName: "SIGSEGV" })).toBe(
      "[ended by SIGSEGV after 1.2 s; containment: sandbox]",
    )
  })

  test("Bash reports processes of an earlier, killed process that were ended", async () => {
    expect(await textOf({ endedLeftovers: 2 })).toBe(
      "out\n[before this, 2 processes that an earlier, killed process had left running were ended]\n" +
        "[exit 0 after 1.2 s; containment: sandbox]",
    )
  })

  test("Bash names the file with the rest of a long output", async () => {
    const long = { text: "a\n[… 90 bytes omitted …]\nb\n", bytes: 100, leftOutBytes: 90 }
    const ending = "\n[exit 0 after 1.2 s; containment: sandbox]"
    expect(await textOf({ ...long, spillPath: "/s/1.txt", spilledBytes: 100 })).toBe(
      `${long.text}[90 bytes omitted; the complete output is in /s/1.txt]${ending}`,
    )
    expect(await textOf({ ...long, spillPath: "/s/1.txt", spilledBytes: 50 })).toBe(
      `${long.text}[90 bytes omitted; the first 50 are in /s/1.txt]${ending}`,
    )
    expect(await textOf(long)).toBe(`${long.text}[90 bytes omitted; no file has them]${ending}`)
  })

  test("Bash caps its own output, whatever a shell returns, and is not cut again", { tags: ["TOOL-26"] }, async () => {
    const text = await textOf({ text: "€".repeat(100_000), bytes: 300_000 })
    expect(text).toMatch(
      /^€{5461}\n\[… \d+ bytes omitted …\]\n€{5461}\n\[\d+ bytes omitted; no file has them\]\n\[exit 0 /,
    )
    const strict = createDispatcher([bashTool({ maxOutputBytes: 100 })], { maxOutputBytes: 50, maxCharacters: 50 })
    const shown = await strict.callTool("Bash", { command: "x" }, contextWith(shellThat({ text: "y".repeat(1000) })))
    expect(shown.text).toMatch(/^y{50}\n\[… 900 bytes omitted …\]\ny{50}\n\[900 .*\]\n\[exit 0 after 1.2 s; .*\]$/)
  })

  test("a timeout and an abort of Bash are errors that contain the output", async () => {
    expect(await errorOf({ endedBy: "timeout", exitCode: null })).toEqual({
      code: "timeout",
      message:
        "The command timed out after 1.2 s; containment: sandbox; every process it started was killed. " +
        "Its output so far:\nout\n[timed out]",
    })
    expect(await errorOf({ endedBy: "abort", exitCode: null }, "best-effort")).toEqual({
      code: "aborted",
      message:
        "The command was stopped after 1.2 s; containment: best-effort; the processes it started were killed as far as they were found. " +
        "Its output so far:\nout\n[was stopped]",
    })
  })

  test("Bash in the background returns a shellId", async () => {
    const shell = shellThat({}, "best-effort")
    const { text } = await dispatcher.callTool("Bash", { command: "x", background: true }, contextWith(shell))
    expect(text).toBe("Started as shellId shell_1.\n[containment: best-effort]")
    expect(shell.run).not.toHaveBeenCalled()
  })
})

describe("a background command", () => {
  test.each([
    [false, { running: true, exitCode: null }, "out\n[still running]"],
    [false, { exitCode: 3 }, "out\n[exit 3]"],
    [false, { exitCode: null }, "out\n[ended by a signal]"],
    [true, { exitCode: null }, "out\n[stopped; containment: sandbox]"],
  ])("a background command polled with stop: %j returns %j", async (stop, result, expected) => {
    const { text } = await dispatcher.callTool("Bash", { shellId: "shell_1", stop }, contextWith(shellThat(result)))
    expect(text).toBe(expected)
  })
})

describe("Bash on a real shell", () => {
  const scene = new ShellScene()
  const shell = scene.shell()
  const call = (name: string, args: JsonObject) =>
    dispatcher.callTool(name, args, contextWith(shell, { cwd: scene.root }))
  afterAll(() => scene.dispose())

  test("a long output is in the file that the result names", { tags: ["TOOL-08", "OFF-15"] }, async () => {
    const { isError, text } = await call("Bash", { command: "seq 20000; exit 1" })
    expect(isError).toBe(false)
    expect(text).toMatch(/^1\n2\n3\n/)
    expect(text).toMatch(
      /\n20000\n\[\d+ bytes omitted; the complete output is in .*\]\n\[exit 1 after \d+\.\d s; .*\]$/,
    )
    const path = /the complete output is in (.*)\]/.exec(text)?.[1] ?? ""
    expect(readFileSync(path, "utf8")).toBe(Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join(""))
  })

  test("a background command is polled and stopped", async () => {
    const sleep = uniqueSleep()
    const started = await call("Bash", { command: `echo up; ${sleep}`, background: true })
    const shellId = /shell_\w+/.exec(started.text)?.[0] ?? ""
    await until(() => isRunning(sleep))
    // Its output is in the pipe by now, but may not have been read.
    await until(async () => (await call("Bash", { shellId })).text === "up\n[still running]")
    expect((await call("Bash", { shellId, stop: true })).text).toBe("[stopped; containment: best-effort]")
    expect(countLiving(sleep)).toBe(0)
    expect((await call("Bash", { shellId: "shell_none" })).text).toContain("not_found")
  })
})
