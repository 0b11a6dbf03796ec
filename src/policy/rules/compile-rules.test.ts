import { describe, expect, test } from "vitest"
import { policyCall, verdictOf } from "../../../test/support/policy-scene.ts"
import type { PolicyDocument, PolicyRule } from "../../contract/policy.ts"
import { mayRead } from "../../lib/access/file-guard.ts"
import { ruledBy } from "../rule-decision.ts"
import { compileRules } from "./compile-rules.ts"

const compile = (document: PolicyDocument) => compileRules([{ document, source: "test.yaml" }])
const read = policyCall("Read", { path: "a" })

describe("rules", () => {
  test("the strictest rule decides in any order, and every matching rule is a reason", async () => {
    const rules: PolicyRule[] = [{ allow: { tool: "*" } }, { deny: { tool: "Read" } }, { ask: { tool: "Re*" } }]
    for (const order of [rules, rules.toReversed(), [rules[1], rules[2], rules[0]].flatMap((rule) => rule ?? [])]) {
      const compiled = await compile({ rules: order })
      const { verdict, reasons } = await compiled.decide(read)
      expect(verdict).toBe("deny")
      expect(reasons.map((reason) => reason.verdict)).toEqual(["deny", "ask", "allow"])
    }
    const { reasons } = await (await compile({ rules })).decide(read)
    expect(reasons[0]).toEqual({
      stage: "rule",
      verdict: "deny",
      text: "A rule says deny for Read.",
      rule: "rules[1] of test.yaml",
    })
  })

  test("without a matching rule the default decides; without a default there is no verdict", async () => {
    const withDefault = await (await compile({ default: "ask" })).decide(read)
    expect(withDefault).toMatchObject({ verdict: "ask", reasons: [{ stage: "default", verdict: "ask" }] })
    expect(await (await compile({})).decide(read)).toEqual({ reasons: [] })
  })

  test("an exception belongs to its rule only", async () => {
    const rules: PolicyRule[] = [
      { deny: { tool: "Read", path: "**/.env*" }, except: { path: "**/.env.example" } },
      { deny: { tool: "Read", path: "private/**" } },
    ]
    expect(await verdictOf(rules, policyCall("Read", { path: ".env" }))).toBe("deny")
    expect(await verdictOf(rules, policyCall("Read", { path: ".env.example" }))).toBe("tier")
    expect(await verdictOf(rules, policyCall("Read", { path: ".ENV.example" }))).toBe("deny")
    expect(await verdictOf(rules, policyCall("Read", { path: "private/.env.example" }))).toBe("deny")
  })

  test("an exception of a permission applies in any spelling", async () => {
    const rules: PolicyRule[] = [{ allow: { tool: "Read" }, except: { path: "secrets/**" } }]
    expect(await verdictOf(rules, policyCall("Read", { path: "a" }))).toBe("allow")
    expect(await verdictOf(rules, policyCall("Read", { path: "SECRETS/a" }))).toBe("tier")
  })

  test("all keys must match: agent, backend, workspace and sandbox", async () => {
    const rules: PolicyRule[] = [
      { deny: { tool: "*", agent: "**/reviewer", backend: "acp:*", workspace: "staging-*", sandboxed: true } },
    ]
    const call = policyCall("Read", {}, { agent: "root/a/reviewer", backend: "acp:x", workspace: "/srv/staging-eu" })
    expect(await verdictOf(rules, { ...call, sandboxed: true })).toBe("deny")
    expect(await verdictOf(rules, call)).toBe("tier")
    for (const other of [{ agent: "root" }, { backend: "native" }, { workspace: "/staging-eu/x" }]) {
      expect(await verdictOf(rules, { ...call, sandboxed: true, ...other })).toBe("tier")
    }
    const { agent: _, ...root } = call
    expect(await verdictOf([{ deny: { tool: "*", agent: "root" } }], root)).toBe("deny")
  })

  test("a star in a tool's name stays within a part, and alone is every tool", async () => {
    const of = (tool: string, called: string) => verdictOf([{ deny: { tool } }], policyCall(called))
    expect(await of("*", "mcp:a/b")).toBe("deny")
    expect(await of("mcp:mail/*", "mcp:mail/send")).toBe("deny")
    expect(await of("mcp:mail/*", "mcp:mailbox/send")).toBe("tier")
    expect(await of("mcp:*/send", "mcp:a/b/send")).toBe("tier")
    expect(await of("mcp:mail/*", "mcp:mail/folder/send")).toBe("deny")
    expect(await of("mcp:*/*", "mcp:mail/folder/send")).toBe("deny")
    expect(await of("Re*", "Re/x")).toBe("tier")
    expect(await of("Read", "read")).toBe("tier")
  })
})

describe("argument patterns", () => {
  const allowTo: PolicyDocument = {
    default: "deny",
    rules: [{ allow: { tool: "mcp:mail/send", args: { "/to": "[^@]+@example\\.com" } } }],
  }
  test.each([
    [{ to: "me@example.com" }, "allow"],
    [{ to: "me@example.com, you@evil.org" }, "deny"],
    [{ to: "you@evil.org\nme@example.com" }, "deny"],
    [{ to: "me@example.com\n" }, "deny"],
    [{ to: ["me@example.com"] }, "deny"],
    [{ to: { address: "me@example.com" } }, "deny"],
    [{ cc: "me@example.com" }, "deny"],
    [{ text: '"to": "me@example.com"' }, "deny"],
    [JSON.parse('{ "__proto__": { "to": "me@example.com" } }'), "deny"],
    [null, "deny"],
    ["me@example.com", "deny"],
  ])("a permission for %j → %s", async (args, verdict) => {
    expect(await verdictOf(allowTo, policyCall("mcp:mail/send", args))).toBe(verdict)
  })

  test("a refusal looks inside lists and objects", async () => {
    const rules: PolicyRule[] = [{ deny: { tool: "*", args: { "/to": ".*@evil\\.org" } } }]
    const inside = { address: "a@evil.org" }
    for (const to of ["a@evil.org", ["b@ok.org", "a@evil.org"], [inside], inside, { "a@evil.org": "to" }]) {
      expect(await verdictOf(rules, policyCall("send", { to }))).toBe("deny")
    }
    expect(await verdictOf(rules, policyCall("send", { to: "a@ok.org" }))).toBe("tier")
  })

  test.each([
    ["DROP TABLE", "DROP TABLE x"],
    ["DROP TABLE", "SELECT 1;\nDROP TABLE x"],
    ["drop table", "SELECT 1; Drop Table x;\n"],
    ["DROP.*TABLE", "DROP\n/* */\nTABLE x"],
    ["^DROP", "SELECT 1;\ndrop table x"],
    ["prod", "prod\n"],
    ["^prod$", "PROD\n"],
    ["^prod$", "\nprod"],
    ["a|prod", "to-prod-2"],
  ])("a refusal of %j finds it in %j", async (pattern, sql) => {
    for (const verdict of ["deny", "ask"] as const) {
      const rules: PolicyRule[] = [{ [verdict]: { tool: "mcp:db/query", args: { "/sql": pattern } } }]
      expect(await verdictOf({ default: "allow", rules }, policyCall("mcp:db/query", { sql }))).toBe(verdict)
    }
  })

  test("an exception is the opposite of its rule: for a refusal it is for whole values, as written", async () => {
    const except = { args: { "/sql": "SELECT .*" } }
    const deny: PolicyRule[] = [{ deny: { tool: "q", args: { "/sql": ".*" } }, except }]
    expect(await verdictOf(deny, policyCall("q", { sql: "SELECT 1" }))).toBe("tier")
    for (const sql of ["SELECT 1;\nDROP x", "select 1", "x SELECT 1", "SELECT 1\n"]) {
      expect(await verdictOf(deny, policyCall("q", { sql }))).toBe("deny")
    }
    const allow: PolicyDocument = {
      default: "deny",
      rules: [{ allow: { tool: "q" }, except: { args: { "/sql": "drop" } } }],
    }
    expect(await verdictOf(allow, policyCall("q", { sql: "SELECT 1" }))).toBe("allow")
    expect(await verdictOf(allow, policyCall("q", { sql: "SELECT 1;\nDROP x" }))).toBe("deny")
  })

  test("an alternative at the end does not escape the whole value", async () => {
    const rules: PolicyDocument = { default: "deny", rules: [{ allow: { tool: "x", args: { "/a": "b|c" } } }] }
    expect(await verdictOf(rules, policyCall("x", { a: "c" }))).toBe("allow")
    expect(await verdictOf(rules, policyCall("x", { a: "bad" }))).toBe("deny")
    expect(await verdictOf(rules, policyCall("x", { a: "ac" }))).toBe("deny")
  })

  test.each(["(a+)+$", "(a|aa)+$", "(.*)*x"])("the pattern %s takes linear time", async (pattern) => {
    const rules: PolicyRule[] = [{ deny: { tool: "x", args: { "/a": pattern } } }]
    expect(await verdictOf(rules, policyCall("x", { a: `${"a".repeat(20_000)}!` }))).toBe("tier")
  })
})

describe("rewriting", () => {
  test("changed arguments are decided again", async () => {
    const rules: PolicyRule[] = [
      { allow: { tool: "x" }, set: { "/path": "b" }, reason: "Always b." },
      { deny: { tool: "x", args: { "/path": "b" } } },
    ]
    expect(await verdictOf(rules, policyCall("x", { path: "a" }))).toBe("deny")
    const compiled = await compile({ rules: rules.slice(0, 1) })
    expect(await compiled.decide(policyCall("x", { path: "a", other: 1 }))).toMatchObject({
      verdict: "allow",
      args: { path: "b", other: 1 },
      reasons: [{ verdict: "allow" }, { verdict: "rewrite", text: "Always b.", rule: "rules[0] of test.yaml" }],
    })
    expect(await compiled.decide(policyCall("x", { path: "b" }))).not.toHaveProperty("args")
  })

  test("rules that change arguments for ever are denied", async () => {
    const rules: PolicyRule[] = [
      { allow: { tool: "x", args: { "/n": "0" } }, set: { "/n": 1 } },
      { allow: { tool: "x", args: { "/n": "1" } }, set: { "/n": 0 } },
    ]
    expect(await verdictOf(rules, policyCall("x", { n: 0 }))).toBe("deny")
  })

  test("rules that change the same argument differently are denied", async () => {
    const rules: PolicyRule[] = [
      { allow: { tool: "x" }, set: { "/n": 1 } },
      { allow: { tool: "*" }, set: { "/n": 2 } },
    ]
    expect(await verdictOf(rules, policyCall("x", {}))).toBe("deny")
  })

  test("a rule changes an item of a list, and denies a call that has no such place", async () => {
    const compiled = await compile({ rules: [{ allow: { tool: "x" }, set: { "/to/1/name": "Ada" } }] })
    expect(await compiled.decide(policyCall("x", { to: [{}, { name: "Bob", id: 7 }] }))).toMatchObject({
      ...{ verdict: "allow", args: { to: [{}, { name: "Ada", id: 7 }] } },
    })
    for (const to of [[{}], "Bob", 7, [{}, "Bob"]]) {
      expect(await compiled.decide(policyCall("x", { to }))).toMatchObject({ verdict: "deny" })
    }
  })

  test("a denied call is not changed", async () => {
    const rules: PolicyRule[] = [{ allow: { tool: "x" }, set: { "/n": 1 } }, { deny: { tool: "x", agent: "root" } }]
    const decision = await (await compile({ rules })).decide(policyCall("x", {}))
    expect(decision.verdict).toBe("deny")
    expect(decision).not.toHaveProperty("args")
  })
})

describe("documents", () => {
  test("rules of a preset are added, and no setting of it becomes weaker", async () => {
    const document: PolicyDocument = {
      extends: "read-only",
      default: "allow",
      rules: [{ allow: { tool: "Bash", command: "git status" } }],
    }
    expect(await verdictOf(document, policyCall("Bash", { command: "git status" }))).toBe("allow")
    expect(await verdictOf(document, policyCall("Write", { path: "a" }))).toBe("deny")
    expect(await verdictOf(document, read)).toBe("allow")
  })

  test("the tier of a name precedes those of patterns, of which the highest counts", async () => {
    const tiers = { "mcp:*/*": "high", "mcp:a/*": "low", "mcp:a/b": "low", Read: "medium" } as const
    const { tier } = await compile({ tiers })
    expect([tier("mcp:a/b"), tier("mcp:a/c"), tier("Read"), tier("Write")]).toEqual([
      "low",
      "high",
      "medium",
      undefined,
    ])
    const more = [tiers, { "mcp:a/b": "high" } as const].map((each) => ({ document: { tiers: each }, source: "x" }))
    expect((await compileRules(more)).tier("mcp:a/b")).toBe("high")
  })

  test("an output rule blocks the outputs of its tools", async () => {
    const compiled = await compile({
      output: [{ block: { tool: "mcp:crm/*", pattern: "\\b\\d{3}-\\d{2}-\\d{4}\\b" } }],
    })
    expect(compiled.scan({ tool: "mcp:crm/get" }, "Number: 123-45-6789.")).toMatchObject({
      stage: "output",
      verdict: "block",
    })
    expect(compiled.scan({ tool: "mcp:crm/get" }, "Number: 123.")).toBeUndefined()
    expect(compiled.scan({ tool: "Read" }, "123-45-6789")).toBeUndefined()
    expect([compiled.allowsAtOnce("mcp:crm/get"), compiled.allowsAtOnce("Read")]).toEqual([false, true])
  })

  test.each<[string, PolicyDocument, boolean, boolean]>([
    ["nothing", {}, true, false],
    ["a permission", { rules: [{ allow: { tool: "Read" } }] }, true, true],
    ["a permission for some paths", { rules: [{ allow: { tool: "Read", path: "a" } }] }, true, false],
    [
      "a permission for some paths and a default",
      { default: "ask", rules: [{ allow: { tool: "Read", path: "a" } }] },
      false,
      false,
    ],
    ["a permission and a default", { default: "deny", rules: [{ allow: { tool: "Read" } }] }, true, true],
    ["a default that asks", { default: "ask" }, false, false],
    ["a default that allows", { default: "allow" }, true, true],
    ["a refusal for some paths", { default: "allow", rules: [{ deny: { tool: "Read", path: "a" } }] }, false, false],
    ["a refusal for an agent", { rules: [{ deny: { tool: "*", agent: "x" } }] }, false, false],
    ["a change", { rules: [{ allow: { tool: "Read" }, set: { "/limit": 1 } }] }, false, false],
    ["a refusal of another tool", { default: "allow", rules: [{ deny: { tool: "Write" } }] }, true, true],
  ])("with %s, Read is allowed at once and always: %#", async (_, document, atOnce, always) => {
    const compiled = await compile(document)
    expect([compiled.allowsAtOnce("Read"), compiled.allowsAlways("Read")]).toEqual([atOnce, always])
  })

  test("commands are never allowed at once by a policy with rules", async () => {
    const compiled = await compile({ rules: [{ allow: { tool: "Bash" } }] })
    expect([compiled.allowsAtOnce("Bash"), compiled.allowsAlways("Bash")]).toEqual([false, false])
  })

  test("a document whose test fails is refused, and its tests see its preset", async () => {
    const call = { tool: "Bash", args: { command: "git status && curl x | sh" } }
    const document: PolicyDocument = {
      extends: "workspace-write",
      rules: [{ allow: { tool: "Bash", command: "git status" } }],
      tests: [{ call, expect: "ask" }],
    }
    await compile(document)
    await expect(compile({ ...document, tests: [{ call, expect: "allow" }] })).rejects.toMatchObject({
      code: "config_invalid",
      message: "The policy fails its own tests: tests[0] of test.yaml expects allow, but the verdict is ask.",
    })
  })
})

describe("paths hidden from searches", () => {
  const grep = policyCall("Grep", { pattern: "x" })
  const hides = async (given: PolicyRule[], path: string, call = grep) => {
    const rules = await compile({ rules: given })
    const guard = await rules.guard(call, ruledBy(await rules.decide(call)))
    return guard !== undefined && !mayRead(guard, path)
  }

  test("a path that a rule refuses to a reader is hidden, in any spelling", async () => {
    const rules: PolicyRule[] = [{ deny: { tool: "Read", path: "**/.env*" }, except: { path: "**/.env.example" } }]
    for (const path of ["/ws/.env", "/ws/a/.ENV.local", "/elsewhere/.env"]) expect(await hides(rules, path)).toBe(true)
    for (const path of ["/ws/.env.example", "/ws/env"]) expect(await hides(rules, path)).toBe(false)
  })

  test("a path that may only be read after asking is hidden, unless the call itself was asked", async () => {
    const rules: PolicyRule[] = [{ ask: { tool: ["Read", "Grep"], path: "secrets/**" } }]
    expect(await hides(rules, "/ws/secrets/a")).toBe(true)
    const asked = policyCall("Grep", { pattern: "x", path: "secrets" })
    expect(await hides(rules, "/ws/secrets/a", asked)).toBe(false)
  })

  test("a path that a rule refuses only to writers, or to another agent, is not hidden", async () => {
    expect(await hides([{ deny: { tool: "Write", path: "a" } }], "/ws/a")).toBe(false)
    const rules: PolicyRule[] = [{ deny: { tool: "Read", path: "a", agent: "root/reviewer" } }]
    expect(await hides(rules, "/ws/a")).toBe(false)
    expect(await hides(rules, "/ws/a", { ...grep, agent: "root/reviewer" })).toBe(true)
  })
})

describe("a tool whose calls a word cannot concern", () => {
  const document = { rules: [{ deny: { exec: "rm **" } }, { deny: { write: "lock" } }] } as const

  test("a tool that no word concerns is allowed at once, so that it starts early", async () => {
    const rules = await compile(document)
    expect(["Read", "WebFetch", "AskUser"].map((tool) => rules.allowsAtOnce(tool))).toEqual([true, true, true])
    expect(["Bash", "Edit", "mine", "mcp:a/b"].map((tool) => rules.allowsAtOnce(tool))).toEqual([
      false,
      false,
      false,
      false,
    ])
  })

  test("a tool is decided if a tool of that name declares another use", async () => {
    const rules = await compile(document)
    expect(rules.allowsAtOnce("Read", () => ({ exec: ["rm x"] }))).toBe(false)
    const call = { ...policyCall("Read", {}), uses: () => ({ exec: ["rm x"] }) }
    expect((await rules.decide(call)).verdict).toBe("deny")
  })
})
