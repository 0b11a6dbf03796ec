import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { runAs, toolCall } from "../../../../test/support/tenant-scene.ts"
import { fileTools } from "../../../tools/index.ts"
import { createAgentTools, createRuntime, fsStore, nodeFiles, nodeShell } from "../index.ts"

const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-hidden-")))
let home: string
let store: string

beforeEach(() => {
  home = mkdtempSync(join(base, "home-"))
  store = join(home, ".local/state/longhaul")
  vi.stubEnv("HOME", home)
  vi.stubEnv("XDG_STATE_HOME", "")
  vi.stubEnv("LONGHAUL_STORE", "")
  writeFileSync(join(home, "notes.txt"), "SENTINEL in the notes\n")
  mkdirSync(join(store, "commands"), { recursive: true })
  writeFileSync(join(store, "secret.txt"), "SENTINEL in the store\n")
})
afterEach(() => vi.unstubAllEnvs())
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** Every tool with every spelling of the store, and walks that start above it. */
function attacks() {
  symlinkSync(store, join(home, "link"))
  symlinkSync(".local", join(home, "parent"))
  const places = [store, ".local/state/longhaul", "./.local/./state/../state/longhaul", "link", "parent/state/longhaul"]
  return places.flatMap((path) => [
    toolCall("List", { path }),
    toolCall("Glob", { pattern: "**", path }),
    toolCall("Grep", { pattern: "SENTINEL", path }),
    toolCall("Read", { path: `${path}/secret.txt` }),
    toolCall("Write", { path: `${path}/secret.txt`, content: "forged" }),
    toolCall("Write", { path: `${path}/workspaces/default/new.txt`, content: "forged" }),
    toolCall("Edit", { path: `${path}/secret.txt`, oldText: "SENTINEL", newText: "forged" }),
    toolCall("ApplyPatch", { patch: `*** Begin Patch\n*** Delete File: ${path}/secret.txt\n*** End Patch` }),
  ])
}

describe("a run in a home folder that contains the store", () => {
  test("the run works, and no tool finds the store in any spelling", async () => {
    const tools = fileTools()
    const { status, toolCalls } = await runAs(base, { workspace: home, tools, store: fsStore(store) }, attacks())
    expect(status).toBe("done")
    for (const { name, args, status, result } of toolCalls) {
      expect([name, args, status, result]).toEqual([name, args, "error", expect.stringContaining('"code":"denied"')])
    }
    expect(readFileSync(join(store, "secret.txt"), "utf8")).toBe("SENTINEL in the store\n")
  })

  test.each(["with ripgrep", "without ripgrep"])("the tools skip the store %s", async (how) => {
    const walks = [".", ".local", ".local/state"].flatMap((path) => [
      toolCall("List", { path }),
      toolCall("Glob", { pattern: "**/*", path }),
      toolCall("Grep", { pattern: "SENTINEL|longhaul", path }),
    ])
    const given = how === "without ripgrep" && { env: { files: nodeFiles({ roots: [home] }) } }
    const { toolCalls } = await runAs(base, { workspace: home, tools: fileTools(), ...given }, walks)
    expect(toolCalls.map(({ status }) => status)).toEqual(walks.map(() => "ok"))
    const shown = toolCalls.map(({ result }) => result).join("\n")
    expect(shown).toContain("notes.txt:1:SENTINEL in the notes")
    expect(shown).not.toMatch(/longhaul|in the store/)
  })

  test("a named store is hidden, wherever it is in the workspace", async () => {
    const named = join(home, "deep/er/runs")
    const looks = [
      toolCall("List", { path: "deep/er" }),
      toolCall("Glob", { pattern: "**/*.jsonl" }),
      toolCall("Read", { path: "deep/er/runs/workspaces" }),
    ]
    const result = await runAs(base, { workspace: home, tools: fileTools(), store: fsStore(named) }, looks)
    expect(result.transcript.path.startsWith(named)).toBe(true)
    const [list, glob, read] = result.toolCalls
    expect([list?.result, glob?.result].join("\n")).not.toMatch(/runs|jsonl/)
    expect(read).toMatchObject({ status: "error", result: expect.stringContaining('"code":"denied"') })
  })
})

test("a folder inside the store or state folder is rejected as a workspace", () => {
  const named = join(home, "runs")
  mkdirSync(join(named, "workspaces"), { recursive: true })
  for (const workspace of [store, join(store, "commands"), named, join(named, "workspaces")]) {
    expect(() => createRuntime({ workspace, store: fsStore(named) })).toThrow("where runs are stored")
  }
  expect(() => createAgentTools({ root: store })).toThrow("where runs are stored")
})

test("commands without a sandbox are rejected if their folder contains the store", async () => {
  expect(() => nodeShell({ root: home })).toThrow("commands without a sandbox could change them")
  expect(() => createAgentTools({ root: home })).toThrow("commands without a sandbox could change them")
  expect(() => nodeShell({ root: base, hidden: [join(base, "runs")] })).toThrow("commands without a sandbox")
  vi.stubEnv("PATH", "/nowhere")
  const shell = nodeShell({ root: home, sandbox: "auto" })
  const command = { command: "true", cwd: home, timeoutMs: 1000, signal: new AbortController().signal }
  await expect(shell.run(command)).rejects.toMatchObject({ code: "denied", message: expect.stringContaining(store) })
  await shell.close()
  const reading = createAgentTools({ root: home, readOnly: true })
  expect((await reading.callTool("Glob", { pattern: "**/*" })).text).toBe("notes.txt")
})

test("commands are rejected if a link in their folder leads to the store, because they could change the link", () => {
  const real = mkdtempSync(join(base, "real-"))
  mkdirSync(join(home, "dotfiles"))
  for (const target of [real, join(home, "dotfiles")]) {
    rmSync(join(home, ".local"), { recursive: true })
    symlinkSync(target, join(home, ".local"))
    expect(() => nodeShell({ root: home, sandbox: "required" })).toThrow("is reached through a link inside")
  }
})
