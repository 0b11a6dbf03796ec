import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { until } from "../../../../test/support/watchdog.ts"
import type { PolicyRule } from "../../../contract/policy.ts"
import { notRuled } from "../../../policy/restrict-environment.ts"
import { compileRules } from "../../../policy/rules/compile-rules.ts"
import { BoundPaths } from "./bound-paths.ts"
import { findRefused } from "./refused-paths.ts"

const root = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-refused-")))
afterAll(() => rmSync(root, { recursive: true, force: true }))
for (const folder of ["secrets/deep", "src/secrets", "a/b/.git/hooks", "other"])
  mkdirSync(join(root, folder), { recursive: true })
for (const file of [".env", ".ENV.local", "a/.env.example", "a/b/.env", "secrets/key", "other/real", "src/x"]) {
  writeFileSync(join(root, file), "x")
}
symlinkSync("../other/real", join(root, "src/.env"))

async function refused(rules: readonly PolicyRule[], tool = "Bash") {
  const compiled = await compileRules([{ document: { rules }, source: "test" }])
  const call = {
    tool,
    args: {},
    callId: "1",
    runId: "r",
    cwd: root,
    workspace: root,
    backend: "native",
    sandboxed: true,
  }
  const refusals = await compiled.refusals(call, notRuled)
  if (refusals === undefined) return undefined
  const { unreadable, unwritable } = await findRefused(refusals, [root], ["/usr"])
  const inside = (path: string) => path.replace(`${root}/`, "")
  return [unreadable.map(({ path }) => inside(path)).sort(), unwritable.map(inside).sort()]
}

test.each<readonly [string, readonly PolicyRule[], readonly string[], readonly string[]]>([
  ["a folder", [{ deny: { read: "secrets/**" } }], ["secrets"], []],
  ["a literal path", [{ deny: { write: "secrets/key" } }], [], ["secrets/key"]],
  ["a name anywhere", [{ deny: { path: "**/.env" } }], [".env", "a/b/.env", "other/real"], []],
  [
    "a name in any case, without exceptions",
    [{ deny: { read: "**/.env*" }, except: { read: "**/.env.example" } }],
    [".ENV.local", ".env", "a/b/.env", "other/real"],
    [],
  ],
  ["a folder anywhere", [{ deny: { write: "**/.git/**" } }], [], ["a/b/.git"]],
  ["both", [{ deny: { write: "a/**" } }, { deny: { read: "a/b/.env" } }], ["a/b/.env"], ["a"]],
  ["one rule inside another", [{ deny: { read: "secrets/**" } }, { deny: { path: "**/deep" } }], ["secrets"], []],
  ["a rule for another agent", [{ deny: { read: "secrets/**", agent: "**/reviewer" } }], [], []],
  ["a file of the system", [{ deny: { read: ["/usr/bin/env", "/nowhere/x"] } }], ["/usr/bin/env"], []],
])("what rules refuse is found: %s", async (_, rules, unreadable, unwritable) => {
  expect(await refused(rules)).toEqual([[...unreadable].sort(), [...unwritable].sort()])
})

test("rules for other tools, and permissions, refuse nothing to commands", async () => {
  expect(await refused([{ deny: { tool: "Read", path: "secrets/**" } }, { allow: { read: "src/**" } }])).toBeUndefined()
})

test("a path that is replaced by renaming is reported, one that is only written is not", async () => {
  const [kept, saved] = [join(root, "kept"), join(root, "saved")]
  for (const path of [kept, saved]) writeFileSync(path, "1")
  const bound = new BoundPaths([kept, saved])
  const replaced: string[] = []
  bound.onReplaced((path) => replaced.push(path))
  writeFileSync(kept, "2")
  writeFileSync(join(root, "next"), "3")
  renameSync(join(root, "next"), saved)
  await until(() => replaced.length > 0)
  expect(replaced).toEqual([saved])
  bound.close()
})

test("a path that was replaced before anybody listened is reported at once", () => {
  const path = join(root, "early")
  writeFileSync(path, "1")
  const bound = new BoundPaths([path])
  rmSync(path)
  let replaced: string | undefined
  bound.onReplaced((each) => {
    replaced = each
  })
  expect(replaced).toBe(path)
  bound.close()
})
