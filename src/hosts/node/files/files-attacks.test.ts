import { execFileSync } from "node:child_process"
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fileSamples } from "../../../../test/support/tool-samples.ts"
import type { JsonObject } from "../../../contract/json.ts"
import { createDispatcher, fileTools, notebookEditTool } from "../../../tools/index.ts"
import { createToolContext } from "../../../tools/kernel/tool-context.ts"
import { nodeFiles } from "./files.ts"

/** No response to an attack may contain this. */
const secret = "OUTSIDE-SECRET"
const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-attacks-")))
const workspace = join(base, "ws")
mkdirSync(workspace)
let server: Server

beforeAll(async () => {
  for (const folder of ["ws/sub", "ws-evil", "outside", "ws/.longhaul/projects", "ws/sub/.longhaul"]) {
    mkdirSync(join(base, folder), { recursive: true })
  }
  for (const file of [
    "outside/secret.txt",
    "ws-evil/secret.txt",
    "ws/.longhaul/projects/state.json",
    "ws/sub/.longhaul/x",
    "ws/longhaul.config.json",
    "ws/longhaul.policy.js",
  ]) {
    writeFileSync(join(base, file), secret)
  }
  writeFileSync(join(workspace, "inside.txt"), "inside")
  // Like a repository elsewhere: nothing here may follow it.
  mkdirSync(join(base, "outside/repository"))
  mkdirSync(join(workspace, "module"))
  writeFileSync(join(workspace, "module/.git"), "gitdir: ../../outside/repository\n")
  symlinkSync(join(base, "outside/secret.txt"), join(workspace, "link-file"))
  symlinkSync(join(base, "outside"), join(workspace, "link-folder"))
  symlinkSync("../outside", join(workspace, "link-relative"))
  symlinkSync("link-folder", join(workspace, "link-twice"))
  symlinkSync(join(base, "outside/new.txt"), join(workspace, "link-dangling"))
  symlinkSync(join(base, "outside/none"), join(workspace, "link-dangling-folder"))
  symlinkSync("link-loop", join(workspace, "link-loop"))
  symlinkSync(".longhaul", join(workspace, "link-longhaul"))
  symlinkSync("longhaul.config.json", join(workspace, "link-config"))
  symlinkSync("/proc/self/root", join(workspace, "link-root"))
  symlinkSync("/proc/self/fd/0", join(workspace, "link-descriptor"))
  linkSync(join(base, "outside/secret.txt"), join(workspace, "hard-link"))
  execFileSync("mkfifo", [join(workspace, "fifo")])
  symlinkSync("/dev/zero", join(workspace, "link-device"))
  server = createServer().listen(join(workspace, "socket"))
  await new Promise((resolve) => server.once("listening", resolve))
})

afterAll(() => {
  server.close()
  rmSync(base, { recursive: true, force: true })
})

const dispatcher = createDispatcher([...fileTools(), notebookEditTool()])
const context = createToolContext({ cwd: workspace, env: { files: nodeFiles({ roots: [workspace] }) } })

async function call(name: string, args: JsonObject): Promise<{ code: string; text: string }> {
  const { isError, text } = await dispatcher.callTool(name, args, context)
  return { code: isError ? JSON.parse(text).error.code : "ok", text }
}

const tools: readonly [name: string, args: (path: string) => JsonObject][] = [
  ["Read", (path) => ({ path })],
  ["List", (path) => ({ path })],
  ["Glob", (path) => ({ path, pattern: "**" })],
  ["Grep", (path) => ({ path, pattern: "." })],
  ["Write", (path) => ({ path, content: "overwritten" })],
  ["Edit", (path) => ({ path, oldText: secret, newText: "overwritten" })],
  ["MultiEdit", (path) => ({ path, edits: [{ oldText: secret, newText: "overwritten" }] })],
  ["NotebookEdit", (path) => ({ path, action: "insert", source: "overwritten" })],
  ["ApplyPatch", (path) => ({ patch: `*** Begin Patch\n*** Add File: ${path}\n+added\n*** End Patch` })],
  ["ApplyPatch", (path) => ({ patch: `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch` })],
  ["ApplyPatch", (path) => ({ patch: `--- ${path}\n+++ ${path}\n@@ -1 +1 @@\n-${secret}\n+overwritten` })],
]

test("every tool that uses files is attacked", async () => {
  const used = (await fileSamples()).map(({ tool }) => tool)
  expect(new Set(tools.map(([name]) => name))).toEqual(new Set(used))
})

const escapes: readonly [attack: string, path: string][] = [
  ["..", "../outside/secret.txt"],
  [".. in the middle", "sub/../../outside/secret.txt"],
  ["many ..", `${"../".repeat(40)}etc/passwd`],
  [".. alone", ".."],
  ["a sibling with the same prefix", "../ws-evil/secret.txt"],
  ["an absolute sibling with the same prefix", join(base, "ws-evil/secret.txt")],
  ["an absolute path", join(base, "outside/secret.txt")],
  ["an absolute path to nothing", "/no/such/file"],
  ["the root of the file system", "/"],
  ["a NUL character", "inside.txt\0.png"],
  ["a NUL character outside", "/etc/passwd\0"],
  ["a link to a file outside", "link-file"],
  ["a link to a folder outside", "link-folder/secret.txt"],
  ["a link to a folder outside, itself", "link-folder"],
  ["something missing below a link to a folder outside", "link-folder/none/none.txt"],
  ["a relative link outside", "link-relative/secret.txt"],
  ["a link to a link outside", "link-twice/secret.txt"],
  ["a dangling link", "link-dangling"],
  ["something below a dangling link", "link-dangling-folder/new.txt"],
  ["a link to itself", "link-loop"],
  ["a link to a device", "link-device"],
  ["a link to a descriptor", "link-descriptor"],
  ["/proc/self/root", `/proc/self/root${join(base, "outside/secret.txt")}`],
  ["/proc/self/root of a file inside", `/proc/self/root${join(workspace, "inside.txt")}`],
  ["/proc/self/cwd", `/proc/self/cwd/${relative(process.cwd(), join(base, "outside/secret.txt"))}`],
  ["/proc/self/fd", "/proc/self/fd/0"],
  ["a link to /proc/self/root", `link-root${join(base, "outside/secret.txt")}`],
  ["/dev/stdin", "/dev/stdin"],
  ["a gitdir outside", "module/.git/../../../outside/repository/config"],
  ["a twin of the workspace's name in other letters", join(base, "WS/inside.txt")],
  ["a twin of the workspace's name in another normal form", join(base, "w\u0301s/inside.txt")],
]

const ours: readonly [attack: string, path: string][] = [
  [".longhaul", ".longhaul"],
  ["a file in .longhaul", ".longhaul/projects/state.json"],
  ["a nested .longhaul", "sub/.longhaul/x"],
  [".longhaul in other letters", ".LongHaul/projects/state.json"],
  [".longhaul with an invisible character", ".long\u200bhaul/x"],
  [".longhaul through ..", "sub/../.longhaul/projects/state.json"],
  [".longhaul through a link", "link-longhaul/projects/state.json"],
  ["the configuration", "longhaul.config.json"],
  ["the configuration in other letters", "LONGHAUL.Config.JS"],
  ["the configuration through a link", "link-config"],
  ["a configuration further down", "sub/longhaul.config.mjs"],
  ["the policy", "longhaul.policy.js"],
  ["a policy that does not exist", "longhaul.policy.json"],
]

/** For people: the response of each tool. */
const answers = new Map<string, Map<string, number>>()
afterAll(() => {
  const attacks = escapes.length + ours.length
  for (const [name, codes] of answers) {
    const told = Array.from(codes, ([code, count]) => `${code} ${count}`).join(", ")
    console.log(`${name.padEnd(12)} ${attacks} attacks: ${told}`)
  }
})

describe.each(tools)("%s", { tags: ["TOOL-34"] }, (name, argsFor) => {
  test.each([...escapes, ...ours])("file tools deny %s", async (_, path) => {
    const before = snapshot()
    const { code, text } = await call(name, argsFor(path))
    const codes = answers.get(name) ?? new Map<string, number>()
    answers.set(name, codes.set(code, (codes.get(code) ?? 0) + 1))
    // A name that is not a notebook's is rejected before any lookup.
    expect(code).toBe(name === "NotebookEdit" ? "invalid_input" : "denied")
    expect(text).not.toContain(secret)
    // Only text that the model wrote itself may come back to it.
    if (!path.includes(base)) expect(text).not.toContain(base)
    expect(snapshot()).toEqual(before)
  })

  test.each([
    ["a FIFO", "fifo"],
    ["a socket", "socket"],
  ])("file tools reject %s without waiting for a writer", async (_, path) => {
    expect((await call(name, argsFor(path))).code).toBe("invalid_input")
  })
})

test("Grep and List over the workspace return none of the forbidden files", async () => {
  const grep = await call("Grep", { pattern: "." })
  // A hard link cannot be distinguished from the file itself; only a process with access to the file can have created
  // it.
  expect(grep.text).toBe(`hard-link:1:${secret}\ninside.txt:1:inside\nmodule/.git:1:gitdir: ../../outside/repository`)
  expect((await call("List", {})).text).not.toMatch(/\.longhaul|longhaul\.(config|policy)/)
})

test.each(["link.ipynb", "../outside/x.ipynb", "link-folder/x.ipynb"])(
  "NotebookEdit denies a notebook outside the workspace, through %s",
  { tags: ["TOOL-34"] },
  async (path) => {
    const notebook = JSON.stringify({ cells: [], metadata: {}, nbformat: 4, nbformat_minor: 5 })
    writeFileSync(join(base, "outside/x.ipynb"), notebook)
    rmSync(join(workspace, "link.ipynb"), { force: true })
    symlinkSync(join(base, "outside/x.ipynb"), join(workspace, "link.ipynb"))
    expect((await call("NotebookEdit", { path, action: "insert", source: "x" })).code).toBe("denied")
    expect(readFileSync(join(base, "outside/x.ipynb"), "utf8")).toBe(notebook)
  },
)

test("writing to a hard link replaces the name and leaves the outside file unchanged", async () => {
  linkSync(join(base, "outside/secret.txt"), join(workspace, "hard-link-2"))
  expect((await call("Write", { path: "hard-link-2", content: "mine" })).code).toBe("ok")
  expect(readFileSync(join(base, "outside/secret.txt"), "utf8")).toBe(secret)
  rmSync(join(workspace, "hard-link-2"))
})

test("an error never reveals whether an outside path exists", async () => {
  for (const [name, argsFor] of tools) {
    const there = await call(name, argsFor("link-folder/secret.txt"))
    const notThere = await call(name, argsFor("link-folder/nothing.txt"))
    expect(notThere.text.replace("nothing", "secret")).toBe(there.text)
  }
})

/** Everything outside, and the config files of the run: names and contents. */
function snapshot(): unknown {
  const folders = ["outside", "ws-evil", "ws/.longhaul/projects", "ws/sub", "ws/sub/.longhaul"]
  return [
    folders.map((folder) => readdirSync(join(base, folder)).sort()),
    readdirSync(base).sort(),
    readdirSync(workspace).sort(),
    readFileSync(join(base, "outside/secret.txt"), "utf8"),
    readFileSync(join(workspace, "longhaul.config.json"), "utf8"),
  ]
}
