import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { ApprovalRequest, Policy } from "../../contract/policy.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"
import { createAgentTools } from "./agent-tools.ts"

const root = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-kernel-policy-")))
mkdirSync(join(root, "secrets"))
writeFileSync(join(root, "secrets/key.txt"), "SENTINEL")
writeFileSync(join(root, "notes.txt"), "plain 123-45-6789")
symlinkSync("secrets", join(root, "innocent"))
afterAll(() => rmSync(root, { recursive: true }))

async function call(policy: Policy | undefined, name: string, args: { readonly [key: string]: string }) {
  const tools = createAgentTools({ root, ...(policy && { policy }) })
  try {
    return await tools.callTool(name, args)
  } finally {
    await tools.close()
  }
}

describe("createAgentTools with a policy", () => {
  test("every call runs without a policy", async () => {
    expect(await call(undefined, "Bash", { command: "echo hi" })).toMatchObject({ isError: false })
  })

  test("a denied call is not run, in any spelling of its path", async () => {
    const policy: Policy = { rules: [{ deny: { tool: "Read", path: "secrets/**" }, reason: "No." }] }
    for (const path of [
      "secrets/key.txt",
      "./secrets/../secrets/key.txt",
      "innocent/key.txt",
      join(root, "secrets/key.txt"),
    ]) {
      expect(await call(policy, "Read", { path })).toEqual({ isError: true, text: "Read was denied: No." })
    }
    for (const name of ["Grep", "Glob", "List"]) {
      const { text } = await call(policy, name, { pattern: name === "Grep" ? "SENTINEL" : "**", path: "innocent" })
      expect(text).not.toMatch(/SENTINEL|key\.txt/)
    }
  })

  test("a high-risk call asks, and is denied without an approver", async () => {
    const args = { command: "echo hi" }
    expect((await call({}, "Bash", args)).text).toContain("There is no approver")
    expect((await call({ ask: "pause" }, "Bash", args)).text).toContain("Nothing can pause here")
    const asked: ApprovalRequest[] = []
    const onAsk: Policy["onAsk"] = (request) => {
      asked.push(request)
      return { decision: "approve" }
    }
    expect(await call({ onAsk }, "Bash", args)).toMatchObject({ isError: false })
    expect(asked).toMatchObject([{ tool: "Bash", args, tier: "high" }])
    expect((await call({ onAsk: () => ({ decision: "deny", reason: "Later." }) }, "Bash", args)).text).toContain(
      "Later.",
    )
    expect(await call({ preApproved: ["Bash"] }, "Bash", args)).toMatchObject({ isError: false })
  })

  test("an approved call that a rule denies is not run", async () => {
    const policy: Policy = {
      default: "ask",
      rules: [{ deny: { tool: "Bash", command: "rm **" } }],
      onAsk: () => ({ decision: "approve", args: { command: "rm -rf notes.txt" } }),
    }
    expect((await call(policy, "Bash", { command: "ls" })).isError).toBe(true)
    expect((await call(policy, "Read", { path: "notes.txt" })).text).not.toContain("123-45")
  })

  test("arguments that a person has written are not replaced by a rule: the call is not run", async () => {
    const policy: Policy = {
      rules: [
        { ask: { tool: "Bash", command: "echo hi" } },
        { allow: { tool: "Bash", command: "echo approved" }, set: { "/command": "echo rewritten" } },
      ],
      onAsk: () => ({ decision: "approve", args: { command: "echo approved" } }),
    }
    const { isError, text } = await call(policy, "Bash", { command: "echo hi" })
    expect([isError, text]).toEqual([true, expect.stringContaining("A rule changes the arguments that were approved.")])
  })

  test("an output that a rule blocks is withheld", async () => {
    const policy: Policy = {
      output: [{ block: { tool: "Read", pattern: "\\d{3}-\\d{2}-\\d{4}" }, reason: "A number." }],
    }
    const { isError, text } = await call(policy, "Read", { path: "notes.txt" })
    expect([isError, text]).toEqual([true, "Read ran, but its output was withheld: A number."])
  })

  test("rewritten arguments run", async () => {
    const policy: Policy = { rules: [{ allow: { tool: "Bash" }, set: { "/command": "echo rewritten" } }] }
    expect((await call(policy, "Bash", { command: "echo hi" })).text).toContain("rewritten")
  })

  test("a long output is scanned before it is saved or cut", async () => {
    const saved: string[] = []
    const long = `${"x".repeat(500_000)} 123-45-6789 ${"y".repeat(500_000)}`
    const speak = defineTool({ name: "speak", description: "speaks", inputSchema: { type: "object" }, run: () => long })
    const tools = createAgentTools({
      root,
      tools: [speak],
      policy: { output: [{ block: { tool: "speak", pattern: "\\d{3}-\\d{2}-\\d{4}" }, reason: "A number." }] },
      persistArtifact: ({ toolName }) => {
        saved.push(toolName)
        return "saved.txt"
      },
    })
    expect((await tools.callTool("speak", {})).text).toBe("speak ran, but its output was withheld: A number.")
    expect(saved).toEqual([])
    await tools.close()
  })

  test("an invalid policy is a StartupError, and so is an invalid rule, which names its place", async () => {
    // Safe: the options are checked at run time.
    const invalid = { mode: "never" } as unknown as Policy
    expect(() => createAgentTools({ root, policy: invalid })).toThrow(expect.objectContaining({ name: "StartupError" }))
    const misspelt: Policy = { rules: [{ deny: { tool: "Raed" } }] }
    const error = { name: "StartupError", message: expect.stringContaining("rules[0]") }
    expect(() => createAgentTools({ root, policy: misspelt })).toThrow(expect.objectContaining(error))
  })

  test.each([[null], [false], [0], [""]])("a policy that is %j is refused, not taken for none", (policy) => {
    // Safe: the options are checked at run time.
    const options = { root, policy } as unknown as Parameters<typeof createAgentTools>[0]
    expect(() => createAgentTools(options)).toThrow(expect.objectContaining({ name: "StartupError" }))
  })

  test("arguments that are not an object are denied, not passed around the policy", async () => {
    const tools = createAgentTools({ root, policy: { default: "allow" } })
    expect(await tools.callTool("Bash", ["ls"])).toMatchObject({
      isError: true,
      text: expect.stringContaining("denied"),
    })
    await tools.close()
  })
})
