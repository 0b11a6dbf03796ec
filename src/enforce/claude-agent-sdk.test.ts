import { expect, test } from "vitest"
import { brokenPolicy, textPolicy } from "../../test/support/enforce-policy.ts"
import type { PolicyEvent, ToolPolicy } from "../policy/service/tool-use.ts"
import { claudeHooks, sendTranscriptStop, transcriptLine } from "./claude-agent-sdk.ts"
import type { ClaudeHookInput } from "./claude-shapes.ts"
import { withheldOutput } from "./claude-withheld.ts"

const base = { session_id: "s1", cwd: "/ws", tool_name: "Bash", tool_use_id: "t1" }

/** The hook of one event, as the SDK calls it. */
function hooksOf(policy: ToolPolicy) {
  const { hooks, canUseTool } = claudeHooks(policy)
  const call = async (event: keyof typeof hooks, more: Partial<ClaudeHookInput>) =>
    hooks[event]?.[0]?.hooks[0]?.({ ...base, hook_event_name: event, ...more })
  return { call, canUseTool, hooks }
}

test("a call is answered with ask and the arguments of the policy, which canUseTool allows without another decision", async () => {
  const policy = textPolicy()
  const { call, canUseTool } = hooksOf(policy)
  expect(await call("PreToolUse", { tool_input: { text: "change me" } })).toEqual({
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "ask", updatedInput: { text: "changed" } },
  })
  const permitted = await canUseTool("Bash", { text: "changed" }, { toolUseID: "t1" })
  expect(permitted).toEqual({ behavior: "allow", updatedInput: { text: "changed" } })
  expect(policy.asked).toMatchObject([{ sessionId: "s1", toolName: "Bash", toolUseId: "t1", cwd: "/ws" }])
})

test("canUseTool decides other arguments, another tool and unknown calls again", async () => {
  const policy = textPolicy()
  const { call, canUseTool } = hooksOf(policy)
  await call("PreToolUse", { tool_input: { text: "hello" } })
  const changed = await canUseTool("Bash", { text: "forbidden" }, { toolUseID: "t1" })
  expect(changed).toEqual({ behavior: "deny", message: "Bash was denied: Not allowed." })
  await canUseTool("Write", { text: "hello" }, { toolUseID: "t1" })
  await canUseTool("Bash", { text: "hello" }, { toolUseID: "t2" })
  expect(policy.asked.map(({ toolName, sessionId }) => [toolName, sessionId])).toEqual([
    ["Bash", "s1"],
    ["Bash", "s1"],
    ["Write", "s1"],
    ["Bash", "s1"],
  ])
})

test("a policy that is down denies, withholds and ends the run", async () => {
  const { call, canUseTool } = hooksOf(brokenPolicy)
  const denied = { permissionDecision: "deny", permissionDecisionReason: "Bash was denied: The policy failed." }
  expect(await call("PreToolUse", { tool_input: {} })).toMatchObject({ hookSpecificOutput: denied })
  expect(await canUseTool("Bash", {}, { toolUseID: "t2" })).toMatchObject({ behavior: "deny" })
  const after = await call("PostToolUse", { tool_use_id: "t2", tool_response: { stdout: "SECRET" } })
  expect(JSON.stringify(after)).not.toContain("SECRET")
  const tool_calls = [{ tool_name: "Bash", tool_input: {}, tool_use_id: "t3", tool_response: "SECRET" }]
  expect(await call("PostToolBatch", { tool_calls })).toMatchObject({ continue: false })
})

test("a batch checks what is not known to be clean: failed calls, and ids that repeat", async () => {
  const policy = textPolicy()
  const { call } = hooksOf(policy)
  const batch = (tool_response: unknown) =>
    call("PostToolBatch", { tool_calls: [{ tool_name: "Bash", tool_input: {}, tool_use_id: "t1", tool_response }] })
  await call("PreToolUse", { tool_input: {} })
  await call("PostToolUse", { tool_response: { stdout: "fine" } })
  expect(await batch("fine")).toEqual({})
  expect(policy.scanned).toHaveLength(1)

  await call("PreToolUse", { tool_input: {} })
  await call("PostToolUseFailure", { error: "exit 3" })
  await call("PreToolUse", { tool_input: {} })
  await call("PostToolUse", { tool_response: { stdout: "fine" } })
  expect(await batch("SECRET")).toEqual({ continue: false, stopReason: "The output of Bash was blocked: Withheld." })
  expect(policy.events).toEqual(["PostToolUseFailure"])
})

test.each([
  ["Exit code 3\nfine\nbad", { error: "Exit code 3", output: "fine\nbad" }],
  ["Exit code 4", { error: "Exit code 4" }],
  ["File does not exist.\nExit code 3\nfine", { error: "File does not exist.\nExit code 3\nfine" }],
  [undefined, { error: "The tool failed." }],
])(
  "a failed call with the error %j is reported with its output apart",
  { tags: ["HOOK-05"] },
  async (error, reported) => {
    const sent: PolicyEvent[] = []
    const { call } = hooksOf({ ...textPolicy(), send: async (event) => void sent.push(event) })
    await call("PostToolUseFailure", { error })
    const facts = { event: "PostToolUseFailure", sessionId: "s1", toolName: "Bash", toolUseId: "t1" }
    expect(sent).toEqual([{ ...facts, ...reported }])
  },
)

test("the text of our own denial is not scanned again", async () => {
  const policy = textPolicy()
  const { call } = hooksOf(policy)
  await call("PreToolUse", { tool_input: { text: "forbidden" } })
  const tool_calls = [{ tool_name: "Bash", tool_input: {}, tool_use_id: "t1", tool_response: "denied" }]
  expect(await call("PostToolBatch", { tool_calls })).toEqual({})
  expect(policy.scanned).toEqual([])
})

test("a tool of an MCP server has the name that rules use, and its server decides where the name ends", async () => {
  const policy = textPolicy()
  const { call } = hooksOf(policy)
  const named = (tool_name: string, name?: string) =>
    call("PreToolUse", { tool_name, tool_input: {}, ...(name !== undefined && { mcp_server: { name } }) })
  await named("mcp__desk__find_all")
  await named("mcp__a__b__c", "a__b")
  await named("mcp__my_desk__c", "my desk")
  await named("mcp__a__b", "other")
  expect(policy.asked.map(({ toolName }) => toolName)).toEqual([
    "mcp:desk/find_all",
    "mcp:a__b/c",
    "mcp:my desk/c",
    "mcp:a/b",
  ])
})

test("calls of a subagent have its type as their agent", async () => {
  const policy = textPolicy()
  const { call } = hooksOf(policy)
  await call("PreToolUse", { tool_input: {}, agent_id: "a1", agent_type: "reviewer" })
  await call("PreToolUse", { tool_input: {}, agent_type: "main" })
  expect(policy.asked.map(({ agent }) => agent)).toEqual(["reviewer", undefined])
})

test("a withheld output has the form of the original and nothing of its content", () => {
  const secret = "SECRET"
  const outputs = [
    { stdout: secret, stderr: secret, interrupted: false, isImage: false },
    { type: "text", file: { filePath: "/ws/a", content: secret, numLines: 7, startLine: 1 } },
    [{ type: "text", text: secret }],
    { type: secret, mode: secret, filePath: secret, nested: [{ deep: { text: secret } }] },
    secret,
  ]
  for (const output of outputs) {
    const withheld = withheldOutput(output, "reason", { file_path: "/ws/a" })
    expect(JSON.stringify(withheld)).not.toMatch(/SECRET|7/)
    expect(form(withheld)).toEqual(form(output))
  }
  expect(withheldOutput(outputs[1], "reason", { file_path: "/ws/a" })).toMatchObject({
    type: "text",
    file: { filePath: "/ws/a" },
  })
})

test("the session starts with its first prompt, and Stop is reported unless it is left out", async () => {
  const policy = textPolicy()
  const { call } = hooksOf(policy)
  await call("UserPromptSubmit", { prompt: "one" })
  await call("UserPromptSubmit", { prompt: "two" })
  await call("Stop", {})
  expect(policy.events).toEqual(["SessionStart", "UserPromptSubmit", "UserPromptSubmit", "Stop"])
  expect(claudeHooks(policy, { includeStop: false }).hooks).not.toHaveProperty("Stop")
  const { hooks } = hooksOf(policy)
  for (const matchers of Object.values(hooks)) expect(matchers).toMatchObject([{ onFailure: "block", timeout: 3600 }])
})

test("lost events do not stop a session", async () => {
  const { call } = hooksOf({ ...textPolicy(), send: () => Promise.reject(new Error("lost")) })
  expect(await call("UserPromptSubmit", { prompt: "one" })).toEqual({})
  expect(await call("PostToolUseFailure", { error: "x" })).toEqual({})
})

test("a transcript is sent as lines with a strict Stop, and needs a policy that receives events", async () => {
  const sent: unknown[] = []
  const policy: ToolPolicy = {
    ...brokenPolicy,
    async send(event: PolicyEvent, options) {
      sent.push(event, options)
    },
  }
  const message = {
    type: "assistant" as const,
    message: { role: "assistant", content: [] },
    session_id: "s1",
    uuid: "u",
  }
  const line = transcriptLine(message)
  expect(JSON.parse(line)).toEqual({ type: "assistant", session_id: "s1", message: message.message })
  await sendTranscriptStop(policy, { sessionId: "s1", model: "m", transcriptLines: [line, line] })
  expect(sent).toEqual([
    { event: "Stop", sessionId: "s1", model: "m", transcript: `${line}\n${line}` },
    { strict: true },
  ])
  const failing: ToolPolicy = { ...policy, send: () => Promise.reject(new Error("refused")) }
  await expect(sendTranscriptStop(failing, { sessionId: "s1", transcriptLines: [] })).rejects.toThrow("refused")
  await expect(sendTranscriptStop(brokenPolicy, { sessionId: "s1", transcriptLines: [] })).rejects.toMatchObject({
    code: "config_invalid",
  })
})

function form(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(form)
  if (typeof value !== "object" || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, form(member)]))
}
