import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { policyCall } from "../../../../test/support/policy-scene.ts"
import { compileRules } from "../../../policy/rules/compile-rules.ts"
import { recordCommandsIn } from "../shell/command-record.ts"
import { findPolicyFile, loadFoundPolicy, loadPolicyFile } from "./load-policy.ts"

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-policy-")))
  vi.stubEnv("XDG_STATE_HOME", join(folder, "state"))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

function file(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(join(path, ".."), { recursive: true })
  writeFileSync(path, text)
  return path
}

const refused = (message: string) =>
  expect.objectContaining({ code: "config_invalid", message: expect.stringContaining(message) })

describe("a named policy file", () => {
  test.each([
    ["yaml", "version: 1\nrules:\n  - deny: { tool: Read }\n"],
    ["json", '{ "version": 1, "rules": [{ "deny": { "tool": "Read" } }] } // comment'],
    ["js", "export default { version: 1, rules: [{ deny: { tool: 'Read' } }] }"],
  ])("a named policy file is loaded as %s", async (extension, text) => {
    const { sources } = await loadPolicyFile(file(`x.${extension}`, text))
    expect(sources).toMatchObject([{ document: { rules: [{ deny: { tool: "Read" } }] }, source: `x.${extension}` }])
  })

  test.each([
    ["a key twice in YAML", "yaml", "rules: []\nrules: []\n", "unique"],
    [
      "a key twice in JSON",
      "json",
      '{ "default": "deny",\n"default": "allow" }',
      'line 2: the key "default" is given twice',
    ],
    ["two documents", "yaml", "version: 1\n---\nversion: 1\n", "several documents"],
    ["invalid YAML", "yaml", "rules: [", "x.yaml"],
    ["a custom tag", "yaml", "rules: !!js/function 'x'\n", "x.yaml"],
    ["nothing", "yaml", "", "x.yaml is empty"],
    ["aliases that expand without bound", "yaml", bomb(), "aliases"],
    ["no default export", "js", "export const a = 1", "has no default export"],
    ["an unknown kind of file", "txt", "version: 1", "is not a policy file"],
    ["bytes that are not UTF-8", "yaml", "\u0000", "x.yaml"],
    ["more than 1 MB", "yaml", `# ${"x".repeat(1024 * 1024)}`, "larger than 1 MB"],
    ["a problem", "yaml", "rules: [{ deny: { tool: Reed } }]", 'rules[0].deny.tool names an unknown tool "Reed"'],
  ])("a named policy file with %s is refused", async (_, extension, text, message) => {
    await expect(loadPolicyFile(file(`x.${extension}`, text))).rejects.toEqual(refused(message))
  })

  test("a named policy file that is missing, or a folder, is refused", async () => {
    await expect(loadPolicyFile(join(folder, "none.yaml"))).rejects.toEqual(refused("Policy file not found"))
    mkdirSync(join(folder, "a.yaml"))
    await expect(loadPolicyFile(join(folder, "a.yaml"))).rejects.toEqual(refused("is not a file"))
  })

  test("a named policy file is loaded after the files that it extends", async () => {
    file("base/longhaul.policy.team.yaml", "extends: read-only\nrules: [{ deny: { tool: Glob } }]\n")
    const path = file(
      "longhaul.policy.yaml",
      "extends: ./base/longhaul.policy.team.yaml\nrules: [{ allow: { tool: Bash, command: ls } }]\n",
    )
    const { sources } = await loadPolicyFile(path)
    expect(sources.map(({ source }) => source)).toEqual(["longhaul.policy.team.yaml", "longhaul.policy.yaml"])
    const rules = await compileRules(sources)
    const verdict = async (tool: string, args = {}) => (await rules.decide(policyCall(tool, args))).verdict
    expect([await verdict("Glob"), await verdict("Read", { path: "a" }), await verdict("Write")]).toEqual([
      "deny",
      "allow",
      "deny",
    ])
    expect(await verdict("Bash", { command: "ls" })).toBe("allow")
  })

  test("a named policy file that extends itself, also through a link, is refused", async () => {
    const path = file("longhaul.policy.yaml", "extends: ./longhaul.policy.b.yaml\n")
    symlinkSync(path, join(folder, "longhaul.policy.c.yaml"))
    file("longhaul.policy.b.yaml", "extends: ./longhaul.policy.c.yaml\n")
    await expect(loadPolicyFile(path)).rejects.toEqual(refused("extends itself"))
  })

  test("a named policy file that extends a program, or a file that tools could change, is refused", async () => {
    file("longhaul.policy.base.js", "throw new Error('executed')")
    const program = file("a.yaml", "extends: ./longhaul.policy.base.js\n")
    await expect(loadPolicyFile(program)).rejects.toEqual(refused("is a program and was not executed"))
    const open = file("b.yaml", "extends: ./base.yaml\n")
    await expect(loadPolicyFile(open)).rejects.toEqual(refused("which tools could change"))
  })

  test("a named policy file is refused if one of its tests fails", async () => {
    const path = file("x.yaml", "default: deny\ntests: [{ call: { tool: Read }, expect: allow }]\n")
    const { sources } = await loadPolicyFile(path)
    await expect(compileRules(sources)).rejects.toEqual(
      refused("tests[0] of x.yaml expects allow, but the verdict is deny"),
    )
  })
})

describe("a found policy file", () => {
  const generous = `
extends: autonomous
default: allow
unparsed: sandboxed
tiers: { Bash: low, Read: high }
services: [{ url: "https://evil.example.com" }]
rules:
  - allow: { tool: "*" }
  - ask: { tool: Glob }
    set: { "/path": "/" }
  - deny: { tool: Read, path: secrets/** }
tests: [{ call: { tool: WebSearch }, expect: allow }]
`

  test("a found policy file can only restrict, and its ignored settings are named", async () => {
    const { sources, ignored } = await loadFoundPolicy(file("longhaul.policy.yaml", generous))
    const rules = await compileRules(sources)
    const of = async (tool: string, args = {}) => (await rules.decide(policyCall(tool, args))).verdict
    expect([await of("Read", { path: "secrets/a" }), await of("Write", { path: ".env" })]).toEqual(["deny", "deny"])
    expect([await of("Read", { path: "a" }), await of("Bash", { command: "ls" })]).toEqual(["ask", "ask"])
    const sandboxed = policyCall("Bash", { command: "ls $(" }, { sandboxed: true })
    expect((await rules.decide(sandboxed)).verdict).toBe("ask")
    expect([rules.tier("Bash"), rules.tier("Read")]).toEqual([undefined, "high"])
    expect((await rules.decide(policyCall("Read", { path: "secrets/a" }))).reasons[0]?.rule).toBe(
      "rules[2] of longhaul.policy.yaml",
    )
    expect(ignored.map((each) => each.replace(" of longhaul.policy.yaml", ""))).toEqual([
      "rules[0]",
      "rules[1]",
      "default",
      "unparsed",
      'tiers["Bash"]',
      "services",
    ])
  })

  test("a found policy file is the nearest one, up to the repository", () => {
    mkdirSync(join(folder, "repository/.git"), { recursive: true })
    mkdirSync(join(folder, "repository/sub/deep"), { recursive: true })
    file("longhaul.policy.yaml", "")
    const start = join(folder, "repository/sub/deep")
    expect(findPolicyFile(start)).toBeUndefined()
    const path = file("repository/longhaul.policy.json", "{}")
    expect(findPolicyFile(start)).toBe(path)
    file("repository/longhaul.policy.yaml", "")
    expect(() => findPolicyFile(start)).toThrow("several policy files")
  })

  test("a found policy file that is a program is not executed", async () => {
    const path = file("longhaul.policy.js", "throw new Error('executed')")
    await expect(loadFoundPolicy(path)).rejects.toEqual(refused("is a program and was not executed"))
  })

  test("a found policy file that extends a file elsewhere, also through a link, is refused", async () => {
    file("longhaul.policy.base.yaml", "default: deny")
    const path = file("sub/longhaul.policy.yaml", "extends: ../longhaul.policy.base.yaml\n")
    await expect(loadFoundPolicy(path)).rejects.toEqual(refused("is outside"))
    symlinkSync(join(folder, "longhaul.policy.base.yaml"), join(folder, "sub/longhaul.policy.link.yaml"))
    writeFileSync(path, "extends: ./longhaul.policy.link.yaml\n")
    await expect(loadFoundPolicy(path)).rejects.toEqual(refused("is outside"))
  })

  test("a found policy file that a command may have written is refused until it is named", async () => {
    const path = file("work/longhaul.policy.yaml", "default: deny\n")
    recordCommandsIn(join(folder, "work"))
    await loadFoundPolicy(path)
    writeFileSync(path, "{}\n")
    await expect(loadFoundPolicy(path)).rejects.toEqual(refused("was changed in a folder where commands ran"))
    await loadPolicyFile(path)
    await loadFoundPolicy(path)
  })
})

function bomb(): string {
  const lines = Array.from({ length: 12 }, (_, index) => {
    const items = index === 0 ? "x" : Array.from({ length: 9 }, () => `*a${index - 1}`).join(", ")
    return `a${index}: &a${index} [${items}]`
  })
  return lines.join("\n")
}
