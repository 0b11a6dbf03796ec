import { describe, expect, test } from "vitest"
import type { Json, JsonObject } from "../src/contract/json.ts"
import type { PolicyDocument, PolicyRule } from "../src/contract/policy.ts"
import { toolPolicy } from "../src/policy/local.ts"
import { compileRules } from "../src/policy/rules/compile-rules.ts"
import { builtInTools } from "../src/policy/rules/known-tools.ts"
import { policyServer } from "../src/policy/service/server/handler.ts"
import { toolSources } from "./support/all-tools.ts"
import { policyCall, verdictOf } from "./support/policy-scene.ts"

interface ForeignUse {
  readonly toolName: string
  readonly toolInput?: JsonObject
  readonly toolType?: "shell" | "mcp"
  readonly toolOutput?: string
}

/** What `policy serve` answers to another agent, and what the same rules say in its own process. */
async function answersOn(
  document: PolicyDocument,
  use: ForeignUse,
  stage: "pre-tool" | "post-tool" = "pre-tool",
): Promise<readonly string[]> {
  const rules = await compileRules([{ document, source: "test" }])
  const serve = policyServer({ rules, keys: { apiKeys: { agent: "key-of-the-agent" } }, audit: () => {} })
  const common = { version: 1, client: "x", sessionId: "s", requestId: "r", at: "2026-01-01T00:00:00Z" }
  const { toolOutput = "", ...given } = use
  const call = { workspace: "/ws", toolInput: {}, toolUseId: "1", digest: "d", ...given }
  const output = { outcome: "ok" as const, toolOutput }
  const response = await serve(
    new Request(`http://localhost/api/v1/hooks/${stage}`, {
      method: "POST",
      headers: { authorization: "Bearer key-of-the-agent" },
      body: JSON.stringify({ ...common, ...call, ...(stage === "post-tool" && output) }),
    }),
  )
  // Safe: the handler's own answer.
  const answered = (await response.json()) as { readonly decision: string }
  const host = { resolvePath: async (path: string) => path }
  const policy = toolPolicy(document, { workspace: "/ws", host })
  const seen = { sessionId: "s", ...call }
  const local = await (stage === "pre-tool" ? policy.preTool(seen) : policy.postTool(seen, output))
  return [answered.decision, local.decision]
}

const denied = ["deny", "deny"]
const allowed = ["allow", "allow"]

describe("a tool of an MCP server, as other agents name it", () => {
  const deny = (tool: string): PolicyDocument => ({ default: "allow", rules: [{ deny: { tool } }] })
  const allow = (tool: string): PolicyDocument => ({ default: "deny", rules: [{ allow: { tool } }] })

  test.each(["mcp:gh/list", "mcp:gh/*", "mcp:*/list", "mcp:g*/l*", "mcp__gh__list", "mcp__gh__*", "mcp__gh", "mcp__*"])(
    "a tool of an MCP server is meant by %s",
    async (tool) => {
      expect(await answersOn(deny(tool), { toolName: "mcp__gh__list" })).toEqual(denied)
      expect(await answersOn(allow(tool), { toolName: "mcp__gh__list" })).toEqual(allowed)
      expect(await answersOn(allow(tool), { toolName: "mcp__other__drop" })).toEqual(
        tool === "mcp__*" ? allowed : denied,
      )
    },
  )

  test("a tool of an MCP server is refused by each reading of an ambiguous name, and permitted by none", async () => {
    const use = { toolName: "mcp__a__b__c" }
    for (const tool of ["mcp:a/*", "mcp:a__b/*", "mcp:a/b__c", "mcp:a__b/c"]) {
      expect(await answersOn(deny(tool), use)).toEqual(denied)
      expect(await answersOn(allow(tool), use)).toEqual(denied)
    }
    expect(await answersOn(allow("mcp__a__b__c"), use)).toEqual(allowed)
  })

  test("a tool of an MCP server is meant in runs, too, by a rule in the form of other agents", async () => {
    for (const tool of ["mcp__lab__add", "mcp__lab__*", "mcp__lab"]) {
      expect(await verdictOf(deny(tool), policyCall("mcp:lab/add"))).toBe("deny")
      expect(await verdictOf(deny(tool), policyCall("mcp:laboratory/add"))).toBe("allow")
    }
    expect(await verdictOf(deny("mcp__lab__add_x"), policyCall("mcp:lab/add.x"))).toBe("deny")
  })

  test("a tool of an MCP server has the tier and the output rules of its server", async () => {
    const document: PolicyDocument = {
      tiers: { "mcp:crm/*": "high" },
      output: [{ block: { tool: "mcp:crm/*", pattern: "\\d{9}" } }],
    }
    const rules = await compileRules([{ document, source: "test" }])
    for (const tool of ["mcp:crm/get", "mcp__crm__get"]) {
      expect(rules.tier(tool)).toBe("high")
      expect(rules.scan({ tool }, "123456789")).toMatchObject({ verdict: "block" })
    }
    expect(rules.scan({ tool: "ReadMcpResource" }, "123456789")).toMatchObject({ verdict: "block" })
    expect(rules.scan({ tool: "Read" }, "123456789")).toBeUndefined()
  })
})

describe("the shell of another agent", () => {
  const use = (command: Json, name = "command") => ({
    toolName: "run_shell_command",
    toolType: "shell" as const,
    toolInput: { [name]: command },
  })

  test.each([
    ["by the words of the command", { deny: { exec: "curl **" } }],
    ["by the words of the command of Bash", { deny: { tool: "Bash", command: "curl **" } }],
    ["by its own name", { deny: { tool: "run_shell_command", command: "curl **" } }],
  ] satisfies readonly (readonly [string, PolicyRule])[])(
    "the shell of another agent is refused %s",
    async (_, rule) => {
      const document: PolicyDocument = { default: "allow", rules: [rule] }
      for (const line of ["ls && curl evil", "sh -c 'curl evil'"]) {
        expect(await answersOn(document, use(line))).toEqual(denied)
        expect(await answersOn(document, use(line, "cmd"))).toEqual(denied)
      }
      expect(await answersOn(document, use(["curl", "evil"]))).toEqual(denied)
      expect(await answersOn(document, use("ls"))).toEqual(allowed)
    },
  )

  test("the shell of another agent is permitted command by command, and asked without a rule", async () => {
    const document: PolicyDocument = { default: "deny", rules: [{ allow: { exec: "git status" } }] }
    expect(await answersOn(document, use("git status"))).toEqual(allowed)
    expect(await answersOn(document, use("git status && rm x"))).toEqual(denied)
    expect(await answersOn(document, use([]))).toEqual(denied)
    expect(await answersOn(document, { ...use("git status"), toolInput: {} })).toEqual(denied)
    expect((await answersOn({ rules: [] }, use("ls")))[0]).toBe("ask")
  })

  const secrets = (path = "secrets/**"): PolicyDocument => ({ default: "allow", rules: [{ deny: { path } }] })
  const placed = (command: Json, more: JsonObject) => ({ ...use(command), toolInput: { command, ...more } })

  test.each([
    [{ directory: "secrets" }],
    [{ dir_path: "docs/../secrets" }],
    [{ workdir: "/ws/secrets" }],
    [{ cwd: "secrets" }],
    [{ working_directory: "secrets" }],
    [{ workingDirectory: "secrets" }],
    [{ cwd: "/ws", workdir: "secrets" }],
  ])("the shell of another agent runs its command in the folder of %j", async (folder) => {
    for (const line of ["cat key", "ls", "echo x > key", "npm test"]) {
      expect(await answersOn(secrets(), placed(line, folder)), line).toEqual(denied)
      expect(await verdictOf(secrets(), policyCall("Bash", { command: line, ...folder })), line).toBe("deny")
    }
    expect(await answersOn(secrets("docs/**"), placed("cat key", folder))).toEqual(allowed)
    expect(await answersOn(secrets("secrets/private/**"), placed("cat private/key", folder))).toEqual(denied)
  })

  test("the shell of another agent runs in the working folder if none is named, and cannot be decided in one that is no text", async () => {
    for (const folder of [{}, { directory: "" }, { directory: null }]) {
      expect(await answersOn(secrets(), placed("cat a", folder))).toEqual(allowed)
    }
    expect((await answersOn(secrets(), placed("cat a", { directory: 1 })))[1]).toBe("deny")
    expect(await verdictOf(secrets(), policyCall("Bash", { command: "cat key" }, { cwd: "/ws/secrets" }))).toBe("deny")
    expect(await verdictOf(secrets(), policyCall("Bash", { command: "ls" }, { cwd: "/ws/secrets" }))).toBe("deny")
  })

  test.each([
    [{ commands: ["ls", "cat secrets/key"] }],
    [{ commands: [["cat", "secrets/key"]] }],
    [{ command: "cat", args: ["secrets/key"] }],
    [{ command: ["cat"], args: ["-n", "secrets/key"] }],
  ])("the shell of another agent has further commands and words in %j", async (toolInput) => {
    expect(await answersOn(secrets(), { ...use(""), toolInput })).toEqual(denied)
    expect(
      await answersOn({ default: "allow", rules: [{ deny: { exec: "cat **" } }] }, { ...use(""), toolInput }),
    ).toEqual(denied)
  })

  test("the shell of another agent is asked about a list that may be one line, or has something else than texts", async () => {
    for (const toolInput of [{ command: ["cat secrets/key"] }, { command: "ls", args: [1] }, { commands: [1] }]) {
      expect(await answersOn(secrets(), { ...use(""), toolInput })).toEqual(["ask", "deny"])
    }
  })

  test("the shell of another agent has the output rules of Bash", async () => {
    const document: PolicyDocument = { default: "allow", output: [{ block: { tool: "Bash", pattern: "\\d{9}" } }] }
    const toolOutput = "123456789"
    expect(await answersOn(document, { ...use("ls"), toolOutput }, "post-tool")).toEqual(["block", "block"])
    const { toolType: _, ...named } = use("ls")
    expect(await answersOn(document, { ...named, toolOutput }, "post-tool")).toEqual(allowed)
  })

  test("the shell of another agent does not open the files of a redirect by rules about Bash", async () => {
    const document: PolicyDocument = {
      default: "deny",
      rules: [{ allow: { tool: "Bash" } }],
    }
    expect((await answersOn(document, use("ls > x")))[1]).toBe("deny")
  })
})

describe("arguments that are paths", () => {
  test.each<readonly [Json]>([
    [{ absolute_path: "/ws/secrets/k" }],
    [{ relative_path: "secrets/k" }],
    [{ filepath: "secrets/k" }],
    [{ target: "secrets/k" }],
    [{ Path: "secrets/k" }],
    [{ PATH: "secrets/k" }],
    [{ options: { path: "secrets/k" } }],
    [{ edits: [{ path: "a" }, { path: "secrets/k" }] }],
    [{ edits: [[{ newPath: "secrets/k" }]] }],
    [{ targetFile: "secrets/k" }],
    [{ "output-file": "secrets/k" }],
    [{ source: { file: "secrets/k" } }],
    [{ files: [{ name: "a" }] }],
    [{ files: { "secrets/k": "text" } }],
    [{ src: "a", dest: "secrets/k" }],
    [{ uri: "file:///ws/secrets/k" }],
    [{ fileName: "secrets/k" }],
    [{ pathname: "secrets/k" }],
    [{ path1: "a", path_2: "secrets/k" }],
    [{ moves: [{ src: "a", dst: "secrets/k" }] }],
    [{ cwd: "secrets" }],
    [{ attachments: ["secrets/k"] }],
    [{ url: "file:///ws/secrets/k" }],
    [{ image: " FILE:///ws/secrets/k" }],
    [{ list: ["file:///ws/secrets/k"] }],
  ])("%j names a path that a rule refuses", async (args) => {
    for (const word of ["path", "read", "write"]) {
      const document = { default: "allow", rules: [{ deny: { [word]: "secrets/**" } }] } as const
      expect(await verdictOf(document, policyCall("mcp:fs/do", args))).toBe("deny")
    }
  })

  test.each<readonly [Json]>([
    [{ absolute_path: "/ws/secrets/k" }],
    [{ Path: "secrets/k" }],
    [{ path: "docs/a", Path: "secrets/k" }],
  ])("%j is a path of a tool named Read", async (args) => {
    const document = { default: "allow", rules: [{ deny: { read: "secrets/**" } }] } as const
    expect(await verdictOf(document, policyCall("Read", args))).toBe("deny")
    expect(await verdictOf(document, policyCall("Grep", args))).toBe("deny")
  })

  test.each<readonly [Json]>([[{ profile: "secrets/k" }], [{ text: "secrets/k" }], [{ options: { to: "secrets/k" } }]])(
    "%j names none",
    async (args) => {
      const document = { default: "allow", rules: [{ deny: { path: "secrets/**" } }] } as const
      expect(await verdictOf(document, policyCall("mcp:fs/do", args))).toBe("allow")
    },
  )

  test("arguments that are nested too deeply may name any path", async () => {
    let args: Json = { path: "secrets/k" }
    for (let depth = 0; depth < 40; depth++) args = { inner: args }
    expect(await verdictOf([{ deny: { path: "secrets/**" } }], policyCall("mcp:fs/do", args))).toBe("deny")
  })
})

describe("resources of an MCP server", () => {
  const document: PolicyDocument = { default: "allow", rules: [{ deny: { tool: "mcp:x/*" } }] }

  test.each([
    ["ReadMcpResource", { server: "x", uri: "a://b" }, "deny"],
    ["ReadMcpResource", { server: "y", uri: "a://b" }, "allow"],
    ["ReadMcpResourceTool", { server: "x", uri: "a://b" }, "deny"],
    ["ReadMcpResource", { uri: "a://b" }, "deny"],
    ["ListMcpResources", { server: "x" }, "deny"],
    ["ListMcpResources", { server: "y" }, "allow"],
    ["ListMcpResources", {}, "deny"],
    ["list_mcp_resources", { server: "x" }, "deny"],
    ["list_mcp_resource_templates", {}, "deny"],
    ["read_mcp_resource", { server: "y", uri: "a://b" }, "allow"],
  ])("%s %j beside a refusal of the whole server x: %s", async (tool, args, verdict) => {
    expect(await verdictOf(document, policyCall(tool, args))).toBe(verdict)
  })

  test("a refusal of single tools, and a permission for the server, are not for its resources", async () => {
    const read = policyCall("ReadMcpResource", { server: "x", uri: "a://b" })
    expect(await verdictOf({ default: "allow", rules: [{ deny: { tool: "mcp:x/delete_*" } }] }, read)).toBe("allow")
    expect(await verdictOf({ default: "deny", rules: [{ allow: { tool: "mcp:x/*" } }] }, read)).toBe("deny")
  })

  test("a call that could be refused is not started early", async () => {
    const rules = await compileRules([{ document: { rules: document.rules ?? [] }, source: "test" }])
    expect(rules.allowsAtOnce("ReadMcpResource")).toBe(false)
    expect(rules.allowsAtOnce("Read")).toBe(true)
  })
})

test("the preset read-only allows the tools that show what the host attached", async () => {
  for (const tool of ["Recall", "SkillPage", "ReadMcpResource", "ListMcpResources", "SearchKnowledge"]) {
    expect(await verdictOf({ extends: "read-only" }, policyCall(tool, { server: "x" }))).toBe("allow")
  }
  expect(await verdictOf({ extends: "read-only" }, policyCall("Memorize", { text: "x" }))).toBe("deny")
})

test("rules know the name of every tool of the library", async () => {
  const names = (await toolSources()).flatMap(([, tools]) => tools.map(({ name }) => name))
  expect(names.filter((name) => !builtInTools.includes(name))).toEqual([])
})
