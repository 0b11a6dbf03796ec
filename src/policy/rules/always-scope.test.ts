import { expect, test } from "vitest"
import { policyCall } from "../../../test/support/policy-scene.ts"
import { compileRules } from "./compile-rules.ts"

const rules = await compileRules([])
const bash = (command: string) => policyCall("Bash", { command })

test.each([
  ["git diff --stat", "git diff *"],
  ["git diff | git diff HEAD", "git diff *"],
  ["npm run build", "npm run build *"],
  ["npm test", "npm test *"],
  ["ls -la", "ls -la"],
  ["rm build", "rm build"],
  ["node script.js", "node script.js"],
  ["git", "git"],
  ["git -C x status", "git -C x status"],
  ["npm run", "npm run"],
  ["npm exec ./x", "npm exec ./x"],
  ["git diff > /dev/null", "git diff *"],
  ["uv run python a.py", "uv run python a.py"],
  ["poetry run bash a.sh", "poetry run bash a.sh"],
  ["npm exec tsx a.ts", "npm exec tsx a.ts"],
  ["yarn node a.js", "yarn node a.js"],
  ["deno eval 1", "deno eval 1"],
  ["docker exec web ls", "docker exec web ls"],
  ["kubectl exec pod ls", "kubectl exec pod ls"],
  ["git config user.name me", "git config user.name me"],
  ["git submodule update", "git submodule update"],
  ["git bisect start", "git bisect start"],
  ["git diff > out", undefined],
  ["git diff $X", undefined],
  ["PAGER=x git diff", undefined],
  ["git diff && git log", undefined],
  ["git diff $(", undefined],
  ['rm "*"', undefined],
  ["git add 'a b'", undefined],
  ["git add ''", undefined],
])("an `always` for %j has the scope %j", async (command, scope) => {
  expect((await rules.alwaysScope(bash(command)))?.command).toBe(scope)
})

test("an `always` for another tool has the tool as its scope", async () => {
  expect(await rules.alwaysScope(policyCall("WebFetch", { url: "https://a.org" }))).toEqual({ tool: "WebFetch" })
  expect(await rules.alwaysScope(policyCall("Bash", { shellId: "1" }))).toBeUndefined()
})

test.each([
  ["git diff", true],
  ["git diff HEAD && git diff", true],
  ["git diff > /dev/null", true],
  ["git diff > out", false],
  ["git diff && curl evil", false],
  ["/tmp/git diff", false],
  ["git -C x diff", false],
  ["X=1 git diff", false],
  ["git diff $X", false],
  ["git diff $(", false],
  ["git push", false],
  ["", false],
])("the scope git diff * covers %j: %j", async (command, isCovered) => {
  expect(await rules.covers({ tool: "Bash", command: "git diff *" }, bash(command))).toBe(isCovered)
})

test("a scope never covers another tool", async () => {
  expect(await rules.covers({ tool: "Bash", command: "git diff *" }, policyCall("x", { command: "git diff" }))).toBe(
    false,
  )
  expect(await rules.covers({ tool: "WebFetch" }, policyCall("Bash", { command: "ls" }))).toBe(false)
})

test("a call without a command has no scope, and no scope of a command covers it", async () => {
  for (const args of [{}, { command: 7 }]) {
    expect(await rules.alwaysScope(policyCall("Bash", args))).toBeUndefined()
    expect(await rules.covers({ tool: "Bash", command: "git diff *" }, policyCall("Bash", args))).toBe(false)
  }
})
