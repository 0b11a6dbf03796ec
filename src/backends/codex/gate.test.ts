import { expect, test } from "vitest"
import type { Permit } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import { CodexGate } from "./gate.ts"

const run = (args: Json): Permit => ({ kind: "run", args })

function gateWith(decide: (args: Json) => Permit = run) {
  const asked: string[] = []
  const refused: string[] = []
  const facts = { ours: new Set(["tide", "view_image"]), servers: ["lab"], cwd: "/project", isSandboxed: true }
  const gate = new CodexGate(facts, {
    async ask({ call }) {
      asked.push(call.name)
      return decide(call.args)
    },
    refused: (callId) => refused.push(callId),
  })
  const question = (tool: string, input: Json, callId = "c", cwd = "/project") =>
    gate.question({ hook_event_name: "PreToolUse", tool_name: tool, tool_input: input, tool_use_id: callId, cwd })
  const command = (line: string, more: object = {}) =>
    gate.approval("item/commandExecution/requestApproval", {
      ...{ kind: "command", itemId: "c", command: line, cwd: "/project" },
      ...more,
    })
  return { gate, asked, refused, question, command }
}

const accepted = { decision: "accept" }
const declined = { decision: "decline" }
const verdict = (answer: Json) => JSON.stringify(answer)

test("a permitted command is accepted once it is exactly the permitted one", async () => {
  const { question, command } = gateWith()
  expect(command("/bin/bash -lc ls")).toEqual(declined)
  expect(await question("Bash", { command: "ls" })).toEqual({})
  expect(command("/bin/bash -lc ls")).toEqual(accepted)
  expect(command("/bin/bash -lc 'ls; rm x'")).toEqual(declined)
  expect(command("/bin/bash -lc ls", { cwd: "/other" })).toEqual(declined)
  expect(command("/bin/bash -lc ls", { kind: "writeStdin" })).toEqual(declined)
  expect(command("/bin/bash -lc ls", { itemId: "d" })).toEqual(declined)
  expect(command("/bin/bash -lc ls", { additionalPermissions: { network: {} } })).toEqual(declined)
  expect(command("/bin/bash -lc ls", { networkApprovalContext: { host: "x" } })).toEqual(declined)
})

test("a rewritten command is accepted only as rewritten", async () => {
  const { question, command } = gateWith(() => run({ command: "ls -l" }))
  expect(await question("Bash", { command: "ls" })).toMatchObject({
    hookSpecificOutput: { permissionDecision: "allow", updatedInput: { command: "ls -l" } },
  })
  expect(command("/bin/bash -lc ls")).toEqual(declined)
  expect(command("/bin/bash -lc 'ls -l'")).toEqual(accepted)
})

test("a refused command is denied with the reason, and declined", async () => {
  const { question, command } = gateWith(() => ({ kind: "refuse", reason: "Not today." }))
  expect(verdict(await question("Bash", { command: "ls" }))).toContain("Not today.")
  expect(command("/bin/bash -lc ls")).toEqual(declined)
})

test("a call of the runtime's tool is not asked about here, but a tool of Codex with the same name is", async () => {
  const { question, asked } = gateWith()
  expect(await question("tide", {})).toEqual({})
  await question("view_image", { path: "a.png" })
  expect(asked).toEqual(["Read"])
})

test("anything that is not a question about a call is denied", async () => {
  const { gate } = gateWith()
  for (const given of [null, "x", {}, { hook_event_name: "PreToolUse", tool_name: "Bash" }, { tool_use_id: "c" }]) {
    expect(verdict(await gate.question(given))).toContain('"deny"')
  }
})

test("a patch is accepted only for the files that it names, and not as a command", async () => {
  const { gate, question, command } = gateWith()
  const patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n"
  const change = (path: string) => {
    const changes = [{ path, kind: "add", movePath: undefined }]
    gate.note({ type: "fileChange", id: "c", status: "inProgress", changes })
    return gate.approval("item/fileChange/requestApproval", { itemId: "c" })
  }
  expect(change("/project/a.txt")).toEqual(declined)
  await question("apply_patch", { command: patch })
  expect(change("/project/a.txt")).toEqual(accepted)
  expect(change("/project/b.txt")).toEqual(declined)
  expect(command("/bin/bash -lc ls")).toEqual(declined)
})

test("a patch in the shell that a policy changes is refused, because it cannot be passed on", async () => {
  const { question, refused } = gateWith(() => run({ command: "x", patch: "y" }))
  const patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n"
  expect(verdict(await question("Bash", { command: `apply_patch <<'EOF'\n${patch}EOF\n` }))).toContain('"deny"')
  expect(refused).toEqual(["c"])
})

test("a call of a server is accepted once, for a permitted call with the same arguments", async () => {
  const { gate, question } = gateWith()
  const request = (params: Json, kind = "mcp_tool_call") =>
    gate.approval("mcpServer/elicitation/request", {
      serverName: "lab",
      _meta: { codex_approval_kind: kind, tool_params: params },
    })
  await question("mcp__lab__add", { n: 1 })
  const item = { type: "mcpToolCall", id: "c", server: "lab", tool: "add", args: { n: 1 } } as const
  gate.note({ ...item, status: "inProgress", content: [], error: undefined, durationMs: 0 })
  expect(request({ n: 2 })).toMatchObject({ action: "decline" })
  expect(request({ n: 1 }, "another")).toMatchObject({ action: "decline" })
  expect(request({ n: 1 })).toMatchObject({ action: "accept" })
  expect(request({ n: 1 })).toMatchObject({ action: "decline" })
})

test("more permissions are never granted, and other requests are unknown", () => {
  const { gate } = gateWith()
  expect(gate.approval("item/permissions/requestApproval", {})).toEqual({ permissions: {}, scope: "turn" })
  expect(gate.approval("item/tool/requestUserInput", {})).toBeUndefined()
})

test("a command that is to run outside the sandbox is declined", async () => {
  const { gate, question, command } = gateWith()
  gate.escalated("c")
  await question("Bash", { command: "ls" })
  expect(command("/bin/bash -lc ls")).toEqual(declined)
})
