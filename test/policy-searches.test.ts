import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { JsonObject } from "../src/contract/json.ts"
import type { PolicyRule } from "../src/contract/policy.ts"
import { nodeFiles } from "../src/hosts/node/files/files.ts"
import { resolvePath } from "../src/hosts/node/policy/resolve-path.ts"
import { nodeSearch } from "../src/hosts/node/search/ripgrep.ts"
import { restrictEnvironment } from "../src/policy/restrict-environment.ts"
import { compileRules } from "../src/policy/rules/compile-rules.ts"
import { createDispatcher, readTools } from "../src/tools/index.ts"
import { createToolContext } from "../src/tools/kernel/tool-context.ts"
import { policyCall } from "./support/policy-scene.ts"

let root: string
let other: string
const dispatcher = createDispatcher(readTools())

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-hidden-")))
  other = `${root}-link`
  mkdirSync(join(root, "secrets/deep"), { recursive: true })
  mkdirSync(join(root, "src"))
  writeFileSync(join(root, "secrets/key.txt"), "SENTINEL in secrets")
  writeFileSync(join(root, "secrets/deep/key.txt"), "SENTINEL in deep")
  writeFileSync(join(root, "src/.env"), "SENTINEL=1")
  writeFileSync(join(root, "src/a.ts"), "const sentinel = 'visible'")
  symlinkSync("secrets", join(root, "innocent"))
  symlinkSync("..", join(root, "src/up"))
  symlinkSync("../secrets/key.txt", join(root, "src/notes.txt"))
  symlinkSync(root, other)
})
afterAll(() => {
  rmSync(other)
  rmSync(root, { recursive: true })
})

const rules: PolicyRule[] = [{ deny: { tool: "Read", path: ["secrets/**", "**/.env"] } }]

/** As the runtime does it: decided first, then run with what is left to see. */
async function callTool(tool: string, args: JsonObject, where: { cwd?: string; search?: boolean } = {}) {
  const { cwd = root, search = false } = where
  const compiled = await compileRules([{ document: { default: "allow", rules }, source: "test" }], { resolvePath })
  const call = policyCall(tool, args, { workspace: root, cwd })
  const { verdict, reasons } = await compiled.decide(call)
  if (verdict !== "allow") return "denied by a rule"
  const plain = { files: nodeFiles({ roots: [root] }), ...(search && { search: nodeSearch({ roots: [root] }) }) }
  const asked = reasons.flatMap((reason) => reason.rule ?? [])
  const env = await restrictEnvironment(plain, compiled, call, { verdict, asked }, resolvePath)
  const context = createToolContext({ cwd, env })
  return (await dispatcher.callTool(tool, args, context)).text
}

const places = [".", "secrets", "secrets/", "./src/../secrets", "innocent", "innocent/deep", "src/up", "src/up/secrets"]
const files = ["secrets/key.txt", "innocent/key.txt", "src/.env", "src/notes.txt", "src/up/secrets/key.txt"]

describe.each([false, true])("with ripgrep: %j", (search) => {
  test.each([...places, ...files])("Grep in %s never shows a denied file", async (path) => {
    for (const mode of ["content", "files", "count"]) {
      const text = await callTool("Grep", { pattern: "SENTINEL|^.*", path, mode }, { search })
      expect(text).not.toContain("SENTINEL")
      expect(text).not.toMatch(/(key\.txt|\.env)([:\n-]|$)/m)
    }
    const absolute = await callTool("Grep", { pattern: "SENTINEL", path: join(root, path) }, { search })
    expect(absolute).not.toContain("SENTINEL")
  })
})

test.each(places)("Glob in %s never shows a denied file", async (path) => {
  for (const pattern of ["**", "*", "**/key.txt", ".env", "secrets/**", "{secrets,innocent}/*"]) {
    expect(await callTool("Glob", { pattern, path })).not.toMatch(/key\.txt|\.env/)
  }
})

test.each([...places, "src"])("List of %s never shows a denied file", async (path) => {
  expect(await callTool("List", { path })).not.toMatch(/key\.txt|\.env|^deep/m)
})

test("a search from a working folder inside a denied one shows nothing", async () => {
  for (const cwd of [join(root, "secrets"), join(root, "innocent"), join(root, "secrets/deep")]) {
    expect(await callTool("Grep", { pattern: "SENTINEL" }, { cwd })).not.toContain("SENTINEL")
    expect(await callTool("Glob", { pattern: "*" }, { cwd })).not.toContain("key.txt")
  }
})

test("Read denies every spelling of a denied file", async () => {
  for (const path of files) expect(await callTool("Read", { path })).toBe("denied by a rule")
})

test("searches show everything else", async () => {
  expect(await callTool("Grep", { pattern: "sentinel" })).toContain("src/a.ts:1:")
  expect(await callTool("List", { path: "src" })).toContain("a.ts")
  expect(await callTool("Glob", { pattern: "*.ts" })).toBe("src/a.ts")
})
