import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import type { Json } from "../../contract/json.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"
import { type AgentTools, type AgentToolsOptions, createAgentTools, LonghaulError, StartupError } from "./index.ts"

const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-agent-tools-")))
vi.stubEnv("LONGHAUL_STORE", join(base, "state"))
let root: string
let count = 0
const open: AgentTools[] = []

beforeEach(() => {
  root = join(base, `ws-${count++}`)
  mkdirSync(root)
})
afterEach(async () => {
  for (const tools of open.splice(0)) await tools.close()
})
afterAll(() => rmSync(base, { recursive: true, force: true }))

function tools(options: Partial<AgentToolsOptions> = {}): AgentTools {
  const created = createAgentTools({ root, ...options })
  open.push(created)
  return created
}
const names = (of: AgentTools) => of.listTools().map(({ name }) => name)
const code = (text: string) => (JSON.parse(text) as { error: { code: string } }).error.code

describe("createAgentTools", () => {
  test("createAgentTools has nine tools, or four read-only ones, without a loop or a transport", {
    tags: ["TOOL-19", "TOOL-20", "TOOL-37"],
  }, async () => {
    expect(names(tools())).toEqual([
      ...["Read", "List", "Glob", "Grep"],
      ...["Write", "Edit", "MultiEdit", "ApplyPatch", "Bash"],
    ])
    const reading = tools({ readOnly: true })
    expect(names(reading)).toEqual(["Read", "List", "Glob", "Grep"])
    const { isError, text } = await reading.callTool("Write", { path: "a", content: "x" })
    expect([isError, code(text)]).toEqual([true, "not_found"])
  })

  test("each of the nine tools works", async () => {
    const kernel = tools()
    const call = async (name: string, args: Json) => {
      const { isError, text } = await kernel.callTool(name, args)
      expect(isError, `${name}: ${text}`).toBe(false)
      return text
    }
    await call("Write", { path: "src/a.txt", content: "one\ntwo\n" })
    await call("Edit", { path: "src/a.txt", oldText: "two", newText: "2" })
    await call("MultiEdit", { path: "src/a.txt", edits: [{ oldText: "one", newText: "1" }] })
    const patch =
      "*** Begin Patch\n*** Update File: src/a.txt\n@@\n 1\n-2\n+zwei\n*** Add File: b.txt\n+new\n*** End Patch"
    await call("ApplyPatch", { patch })
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("1\nzwei\n")
    expect(await call("Read", { path: "src/a.txt" })).toBe("1\t1\n2\tzwei")
    expect(await call("List", {})).toBe("b.txt\nsrc/")
    expect(await call("Glob", { pattern: "*.txt" })).toContain("src/a.txt")
    expect(await call("Grep", { pattern: "zw\\w+" })).toBe("src/a.txt:2:zwei")
    expect(await call("Bash", { command: "cat b.txt; pwd" })).toContain(`new\n${root}`)
  })

  test("dispatch returns full outcomes, and tool() returns a tool's properties", async () => {
    const kernel = tools({ readOnly: true })
    await expect(kernel.dispatch({ name: "List", args: {} })).resolves.toMatchObject({
      status: "ok",
      output: [{ type: "text" }],
    })
    expect((await kernel.dispatch({ name: "Write", args: {} })).status).toBe("error")
    expect(kernel.tool("List")).toMatchObject({ effect: "none", risk: "low" })
    expect(kernel.tool("Write")).toBeUndefined()
  })

  test("custom tools are added; a duplicate name is rejected", { tags: ["TOOL-21"] }, async () => {
    const own = defineTool({
      name: "hello",
      description: "Says hello.",
      inputSchema: { type: "object" },
      run: () => "hi",
    })
    const kernel = tools({ tools: [own] })
    expect(names(kernel).at(-1)).toBe("hello")
    expect(await kernel.callTool("hello", {})).toEqual({ isError: false, text: "hi" })
    expect(() => tools({ tools: [own, own] })).toThrow(StartupError)
  })
})

describe("configuration of createAgentTools", () => {
  test.each([
    ["a root that is not there", () => ({ root: join(base, "nowhere") })],
    ["a root that is a file", () => ({ root: fileAt("plain") })],
    ["no root", () => ({ root: "" })],
    ["another root that is not there", () => ({ roots: [join(base, "nowhere")] })],
    ["a sandbox that nobody knows", () => ({ sandbox: "maybe" })],
  ])("%s throws a StartupError immediately, with a fix", { tags: ["TOOL-28", "TOOL-29"] }, (_, options) => {
    try {
      tools(options() as AgentToolsOptions)
    } catch (error) {
      expect(error).toBeInstanceOf(StartupError)
      expect(LonghaulError.is(error) && error.toJSON()).toMatchObject({
        code: "config_invalid",
        fix: expect.any(String),
      })
      return
    }
    throw new Error("it should have been refused")
  })

  test("the configuration is frozen", { tags: ["TOOL-28"] }, () => {
    const kernel = tools()
    expect(Object.isFrozen(kernel)).toBe(true)
    expect(Object.isFrozen(kernel.listTools())).toBe(true)
  })

  test("additional roots are accessible; no other path is", { tags: ["HOST-06", "TOOL-02", "TOOL-34"] }, async () => {
    const other = join(base, `other-${count}`)
    mkdirSync(other)
    writeFileSync(join(other, "b.txt"), "other")
    writeFileSync(join(base, "secret.txt"), "secret")
    symlinkSync(join(base, "secret.txt"), join(root, "link"))
    const kernel = tools({ roots: [other] })
    expect((await kernel.callTool("Read", { path: join(other, "b.txt") })).text).toBe("1\tother")
    for (const path of ["../secret.txt", join(base, "secret.txt"), "link", "a/../../secret.txt", "/etc/passwd"]) {
      for (const [name, args] of [
        ["Read", { path }],
        ["Write", { path, content: "x" }],
        ["Edit", { path, oldText: "secret", newText: "x" }],
        ["ApplyPatch", { patch: `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch` }],
      ] as const) {
        const { isError, text } = await kernel.callTool(name, args)
        expect([name, path, isError, code(text)]).toEqual([name, path, true, "denied"])
      }
    }
    expect(readFileSync(join(base, "secret.txt"), "utf8")).toBe("secret")
  })

  test("confinement can be disabled", { tags: ["TOOL-35"] }, async () => {
    writeFileSync(join(base, "outside.txt"), "outside")
    const { text } = await tools({ confine: false }).callTool("Read", { path: "../outside.txt" })
    expect(text).toBe("1\toutside")
  })

  test("limits bound the result of a call", async () => {
    writeFileSync(join(root, "long.txt"), "x".repeat(5000))
    const { text } = await tools({ limits: { maxOutputBytes: 500 } }).callTool("Read", { path: "long.txt" })
    expect(text.length).toBeLessThanOrEqual(500)
    expect(text).toContain("bytes omitted")
  })
})

describe("calls of createAgentTools", () => {
  test("calls run in parallel; writes to the same path are serialised", { tags: ["TOOL-30", "TOOL-33"] }, async () => {
    const kernel = tools()
    await kernel.callTool("Write", { path: "log", content: "start\n" })
    const edits = Array.from({ length: 20 }, (_, index) =>
      kernel.callTool("Edit", { path: "log", oldText: "start\n", newText: `start\n${index}\n` }),
    )
    expect((await Promise.all(edits)).every(({ isError }) => !isError)).toBe(true)
    expect(readFileSync(join(root, "log"), "utf8").trim().split("\n")).toHaveLength(21)
  })

  test("a call can be aborted and reports progress", async () => {
    const kernel = tools()
    const abort = new AbortController()
    const said: string[] = []
    const running = kernel.callTool(
      "Bash",
      { command: "echo begun; sleep 30" },
      {
        signal: abort.signal,
        onProgress: (message) => {
          said.push(message)
          abort.abort()
        },
      },
    )
    expect((await running).isError).toBe(true)
    expect(said.join("")).toContain("begun")
  })

  test("the complete output of a truncated command can be read at the reported path", async () => {
    const kernel = tools()
    const { text } = await kernel.callTool("Bash", { command: "seq 1 50000" })
    const [, path = ""] =
      /(\/\S+)\]?$/m.exec(text.split("\n").find((line) => line.includes(join(base, "state"))) ?? "") ?? []
    const { text: read } = await kernel.callTool("Read", {
      path: path.replace(/[\].;,]+$/, ""),
      offset: 25_000,
      limit: 1,
    })
    expect(read).toContain("25000\t25000")
  })
})

function fileAt(name: string): string {
  const path = join(base, name)
  writeFileSync(path, "")
  return path
}
