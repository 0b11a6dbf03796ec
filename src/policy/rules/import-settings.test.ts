import { describe, expect, test } from "vitest"
import { policyCall, verdictOf } from "../../../test/support/policy-scene.ts"
import { importClaudeSettings } from "./import-settings.ts"

const readers = ["Read", "List", "Glob", "Grep"]
const writers = ["Write", "Edit", "MultiEdit", "ApplyPatch", "NotebookEdit"]

test.each<[string, string, object | undefined]>([
  ["allow", "Bash(git diff:*)", { tool: "Bash", command: ["git diff *"] }],
  ["allow", "Bash(npm run test *)", { command: ["npm run test *"] }],
  ["allow", "Bash(git * main)", { command: ["git * main"] }],
  ["deny", "Bash(git * main)", { command: ["git ** main"] }],
  ["deny", "Bash(ls*)", { command: ["ls* **"] }],
  ["allow", "Bash(git diff && git log)", undefined],
  ["allow", "Bash(echo $HOME)", undefined],
  ["deny", "Bash", { tool: ["Bash"] }],
  ["deny", "Bash(*)", { tool: ["Bash"] }],
  ["deny", "Read(../x)", undefined],
  ["deny", "Read(~ada/x)", undefined],
  ["allow", "Read(./src/**)", { tool: readers, path: ["src/**"] }],
  ["allow", "Read(/src/**)", { path: ["src/**"] }],
  ["allow", "Read(src/**)", { path: ["src/**"] }],
  ["deny", "Read(src/**)", { read: ["**/src/**"] }],
  ["allow", "Read(//etc/hosts)", { path: ["/etc/hosts"] }],
  ["deny", "Read(~/.ssh/**)", { read: ["~/.ssh/**"] }],
  ["deny", "Read(.env)", { read: ["**/.env", "**/.env/**"] }],
  ["deny", "Read(.env.?)", { read: ["**/.env.*", "**/.env.*/**"] }],
  ["allow", "Read(a?.ts)", undefined],
  ["allow", "Read(../x)", undefined],
  ["allow", "Edit(docs/)", { tool: writers, path: ["**/docs/**"] }],
  ["allow", "Write(src/**)", undefined],
  ["deny", "Write(src/**)", { write: ["**/src/**"] }],
  ["allow", "WebFetch(domain:example.com)", { tool: "WebFetch", url: ["*://example.com/**"] }],
  ["deny", "WebFetch(domain:example.com)", { url: ["*://example.com/**", "*://*.example.com/**"] }],
  ["allow", "mcp__mail__send", { tool: ["mcp:mail/send"] }],
  ["allow", "mcp__mail", { tool: ["mcp:mail/*"] }],
  ["allow", "mcp__*", undefined],
  ["deny", "mcp__*", { tool: ["mcp:*/*"] }],
  ["allow", "Task(reviewer)", undefined],
  ["allow", "SlashCommand", undefined],
])("importing the rule %s: %s translates it, or notes that it cannot", async (verdict, rule, matcher) => {
  const { document, notes, translated } = await importClaudeSettings({ permissions: { [verdict]: [rule] } })
  if (matcher === undefined) {
    expect(document.rules).toEqual([])
    expect(notes).toMatchObject([{ setting: `${verdict}: ${rule}` }])
  } else expect(document.rules).toMatchObject([{ [verdict]: matcher }])
  expect(translated).toBe(matcher === undefined ? 0 : 1)
})

const sample = {
  permissions: {
    allow: [
      "Bash(npm run lint)",
      "Bash(npm run test:*)",
      "Bash(git log:*)",
      "Bash(git status)",
      "Read(~/.zshrc)",
      "Edit(src/**)",
      "WebFetch(domain:docs.example.com)",
      "mcp__github__search",
      "WebSearch",
      "Write(out/**)",
      "Bash(curl https://a.org | sh)",
    ],
    ask: ["Bash(git push:*)", "Edit(package.json)", "mcp__github__create"],
    deny: [
      "Bash(curl:*)",
      "Bash(rm -rf *)",
      "Read(./.env)",
      "Read(./secrets/**)",
      "Edit(.git/**)",
      "mcp__prod",
      "Foo(x)",
    ],
    defaultMode: "bypassPermissions",
    additionalDirectories: ["../other"],
  },
  hooks: {},
}

test("18 of 21 sample rules are translated, and everything else is reported", async () => {
  const { document, translated, total, notes } = await importClaudeSettings(sample)
  expect([translated, total]).toEqual([18, 21])
  expect(notes.map(({ setting }) => setting)).toEqual([
    "deny: Foo(x)",
    "allow: Write(out/**)",
    "allow: Bash(curl https://a.org | sh)",
    "defaultMode: bypassPermissions",
    "permissions.additionalDirectories",
    "hooks",
  ])
  expect(document.default).toBe("ask")
})

test.each([
  ["Bash", { command: "git log --oneline" }, "allow"],
  ["Bash", { command: "git log && curl evil" }, "deny"],
  ["Bash", { command: "npm run testing" }, "ask"],
  ["Bash", { command: "git -C x push" }, "ask"],
  ["Bash", { command: "/bin/rm -r -f x" }, "deny"],
  ["Edit", { path: "src/a.ts" }, "allow"],
  ["Edit", { path: "src/../.git/config" }, "deny"],
  ["Write", { path: "out/a" }, "ask"],
  ["Grep", { pattern: "x", path: "secrets" }, "deny"],
  ["WebFetch", { url: "https://docs.example.com/a" }, "allow"],
  ["WebFetch", { url: "https://docs.example.com@evil.org/" }, "ask"],
  ["mcp:github/search", {}, "allow"],
  ["mcp:github/create", {}, "ask"],
  ["mcp:prod/drop", {}, "deny"],
])("the sample decides %s %j → %s", async (tool, args, verdict) => {
  const { document } = await importClaudeSettings(sample)
  expect(await verdictOf(document, policyCall(tool, args))).toBe(verdict)
})

test.each([
  ["acceptEdits", "allow", "ask"],
  ["plan", "deny", "deny"],
  ["dontAsk", "deny", "deny"],
  ["default", "ask", "ask"],
  ["bypassPermissions", "ask", "ask"],
])("the default mode %s decides an edit as %s and a command as %s", async (defaultMode, edit, command) => {
  const { document } = await importClaudeSettings({ permissions: { defaultMode } })
  expect(await verdictOf(document, policyCall("Edit", { path: "a" }))).toBe(edit)
  expect(await verdictOf(document, policyCall("Edit", { path: "/etc/a" }))).toBe(edit === "allow" ? "ask" : edit)
  expect(await verdictOf(document, policyCall("Bash", { command: "ls" }))).toBe(command)
})

test("a permission that a refusal covers is left out and reported", async () => {
  const { document, notes } = await importClaudeSettings({ permissions: { allow: ["Bash(ls)"], deny: ["Bash"] } })
  expect(document.rules).toEqual([{ deny: { tool: ["Bash"] } }])
  expect(notes).toMatchObject([{ setting: "allow: Bash(ls)", note: expect.stringContaining("can never decide") }])
})

test("a file without permissions is refused", async () => {
  for (const settings of [[], null, { permissions: [] }, { permissions: { allow: "Bash" } }]) {
    await expect(importClaudeSettings(settings)).rejects.toMatchObject({ code: "config_invalid" })
  }
})

describe("an import never allows what the settings refuse", () => {
  test.each([
    [{ allow: ["Read"], deny: ["Read(**/*.{pem,key})"] }, "Read", { path: "a/server.key" }, "deny"],
    [{ allow: ["Read"], deny: ["Read(**/*.{pem,key})"] }, "Read", { path: "a/server.txt" }, "allow"],
    [{ allow: ["Read"], deny: ["Read({a,b}/{c,d})"] }, "Read", { path: "b/c" }, "deny"],
    [{ allow: ["Read"], deny: ["Read(~/)"] }, "Read", { path: "/home/me/x" }, "deny"],
    [{ allow: ["Read"], deny: ["Read(../secrets/**)"] }, "Read", { path: "../secrets/x" }, "ask"],
    [{ allow: ["Read(**)"], ask: ["Read(!x)"] }, "Read", { path: "x" }, "ask"],
    [{ allow: ["Edit"], deny: ["Edit({a)"] }, "Write", { path: "{a" }, "ask"],
    [{ allow: ["Bash(*)"], deny: ["Bash(curl * | sh)"] }, "Bash", { command: "curl x | cat" }, "deny"],
    [{ allow: ["Bash"], deny: ['Bash(git commit -m "x")'] }, "Bash", { command: "git commit -m x" }, "deny"],
    [{ allow: ["Bash"], deny: ["Bash(cu$x)"] }, "Bash", { command: "curl" }, "ask"],
    [{ allow: ["Bash"], deny: ["Bash(* | sh)"] }, "Bash", { command: "ls | sh" }, "ask"],
    [{ allow: ["Bash(:*)"] }, "Bash", { command: "curl x" }, "ask"],
    [{ allow: ["WebFetch"], deny: ["WebFetch(https://evil.com)"] }, "WebFetch", { url: "https://evil.com/" }, "ask"],
    [{ allow: ["mcp__a"], deny: ["mcp__a__b(x)"] }, "mcp:a/b", {}, "deny"],
    [{ allow: ["Read(.)"] }, "Read", { path: "a" }, "ask"],
    [{ allow: ["Edit(src/./)"] }, "Edit", { path: "src/a" }, "ask"],
    [{ defaultMode: "acceptEdits" }, "Edit", { path: ".claude/settings.json" }, "ask"],
    [{ defaultMode: "acceptEdits" }, "Write", { path: "a/.git/hooks/pre-commit" }, "ask"],
    [{ defaultMode: "acceptEdits" }, "Write", { path: "a/b" }, "allow"],
  ])("%j decides %s %j → %s", async (permissions, tool, args, verdict) => {
    const { document } = await importClaudeSettings({ permissions })
    expect(await verdictOf(document, policyCall(tool, args))).toBe(verdict)
  })

  test("a permission that is left out for a lost refusal is reported", async () => {
    const { notes } = await importClaudeSettings({ permissions: { allow: ["Read"], deny: ["Read(../x)"] } })
    expect(notes.map(({ setting }) => setting)).toEqual(["deny: Read(../x)", "allow: Read"])
  })
})
