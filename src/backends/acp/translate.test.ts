import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import type { Json } from "../../contract/json.ts"
import { textOrEmpty } from "../../lib/json.ts"
import type { AcpAgent } from "./agents.ts"
import { copilotAgent } from "./copilot.ts"
import { replyError, toldFailure } from "./failures.ts"
import { geminiAgent } from "./gemini.ts"
import { opencodeAgent } from "./opencode.ts"
import { type AcpCallFacts, objectOf, readCall, readQuestion } from "./protocol.ts"
import { argumentsOf, merged, oursIn, ownTool, type SeenCall } from "./tools.ts"
import { outcomeOf, readPromptEnd, translate, usedSince } from "./translate.ts"

/** What a recorded scene tells: the call as it is known at its question and at its end, and the end of the prompt. */
function recorded(agent: AcpAgent, version: string, scene: string) {
  const text = readFileSync(new URL(`__fixtures__/${agent.name}-${version}.jsonl`, import.meta.url), "utf8")
  const lines = text
    .trim()
    .split("\n")
    .map((line) => objectOf(JSON.parse(line)))
  let call: SeenCall | undefined
  let asked: { readonly call: SeenCall; readonly question: AcpCallFacts } | undefined
  let end: Json = null
  for (const line of lines.filter((each) => textOrEmpty(each.scene) === scene)) {
    const event = translate(line.update)
    if (event?.type === "call") call = merged(call, event.call, true)
    if (line.question !== undefined) {
      const { call: question } = readQuestion(line.question)
      call ??= merged(undefined, question, false)
      asked = { call, question }
    }
    if (line.end !== undefined) end = line.end
  }
  return { call: call ?? merged(undefined, readCall(null), false), asked, end: readPromptEnd(end) }
}

const agents = [
  [copilotAgent, "1.0.102"],
  [opencodeAgent, "1.18.33"],
  [geminiAgent, "0.61.0"],
] as const

const written = {
  copilot: { path: "/project/note.txt", file_text: "written" },
  opencode: { filePath: "/project/note.txt", content: "written" },
  gemini: { path: "/project/note.txt", oldText: "", newText: "written" },
}
const command = "echo hi > x.txt; cat x.txt"
const commands = {
  copilot: { command, description: "run", sessionId: "s1" },
  opencode: { command, description: "run", cwd: "/project" },
  gemini: { command },
}

describe.each(agents)("recorded calls of $name %s", (agent, version) => {
  const name = agent.name as "copilot" | "opencode" | "gemini" // Safe: the agents above.
  const inexact = name === "gemini" ? { inexact: true } : {}

  test("a file that it writes is Write, with what is known of its arguments", () => {
    const { call, asked } = recorded(agent, version, "write")
    expect(ownTool(call, [], agent.naming)).toMatchObject({ name: "Write", effect: "repeatable", risk: "medium" })
    expect(asked && argumentsOf(asked.call, asked.question)).toEqual({ args: written[name], ...inexact })
    expect(outcomeOf(call)).toMatchObject({ status: "ok" })
  })

  test("a command is Bash, with its text", () => {
    const { call, asked } = recorded(agent, version, "bash")
    expect(ownTool(call, [], agent.naming)).toMatchObject({ name: "Bash", effect: "once", risk: "high" })
    expect(asked && argumentsOf(asked.call, asked.question)).toEqual({ args: commands[name], ...inexact })
  })

  test("a file that it reads is Read, without effect", () => {
    const { call } = recorded(agent, version, "read")
    expect(ownTool(call, [], agent.naming)).toMatchObject({ name: "Read", effect: "none", risk: "low" })
  })

  test("a call of the runtime's tool is recognized in its question, for its own server only", () => {
    const { asked } = recorded(agent, version, "ours")
    const { call, question } = asked ?? expect.fail("no question")
    expect(oursIn(call, question, "longhaul", ["send"], agent.naming)).toBe("send")
    expect(oursIn(call, question, "longhaulx", ["send"], agent.naming)).toBeUndefined()
    expect(oursIn(call, question, "longhaul", ["other"], agent.naming)).toBeUndefined()
  })

  test("a call of another kind under the name of the runtime's tool is not one", () => {
    const { asked } = recorded(agent, version, "ours")
    const { call, question } = asked ?? expect.fail("no question")
    const execute = { kind: "execute" }
    expect(
      oursIn({ ...call, ...execute }, { ...question, ...execute }, "longhaul", ["send"], agent.naming),
    ).toBeUndefined()
    expect(oursIn(call, { ...question, ...execute }, "longhaul", ["send"], agent.naming)).toBeUndefined()
  })

  test("a call of a user's MCP server has the name that policies use", () => {
    const { call } = recorded(agent, version, "ours")
    expect(ownTool(call, ["longhaul"], agent.naming)).toMatchObject({ name: "mcp:longhaul/send", risk: "high" })
  })

  test("the end of a prompt has its tokens", () => {
    const { usage, stopReason } = recorded(agent, version, "write").end
    expect(stopReason).toBe("end_turn")
    expect(usage.inputTokens).toBeGreaterThan(1000)
    expect(usage.outputTokens).toBeGreaterThan(0)
  })
})

test("the model of a prompt is the one of its quota", () => {
  const quota = { token_count: {}, model_usage: [{ model: "gemini-3-flash" }, { model: "gemini-3-pro" }] }
  expect(readPromptEnd({ stopReason: "end_turn", _meta: { quota } }).model).toBe("gemini-3-flash")
  expect(readPromptEnd({ stopReason: "end_turn", _meta: { quota: { model_usage: "none" } } }).model).toBe("")
})

describe("the name of a tool", () => {
  const call = (kind: string, title: string): SeenCall => merged(undefined, { id: "c1", kind, title }, true)

  test.each(["read", "Read", "create", "edit", "search"])(
    "the name of a tool is not taken from a title that the model wrote: %s",
    (title) => {
      expect(ownTool(call("execute", title), [], copilotAgent.naming).name).toBe("Bash")
      expect(ownTool(call("other", title), [], copilotAgent.naming)).toMatchObject({ name: "acp:other", risk: "high" })
      expect(ownTool(call("switch_mode", title), [], copilotAgent.naming)).toMatchObject({ risk: "high" })
    },
  )

  test("the name of a server's tool is that of the longest server name that fits", () => {
    const servers = ["mail", "mail-box"]
    expect(ownTool(call("other", "mail-box-send"), servers, copilotAgent.naming).name).toBe("mcp:mail-box/send")
    expect(ownTool(call("other", "mail-send"), servers, copilotAgent.naming).name).toBe("mcp:mail/send")
    expect(ownTool(call("other", "my-mail-send"), servers, copilotAgent.naming).name).toBe("acp:other")
  })

  test("a change of several files comes with all their paths, and with no single one", () => {
    const content = ["/project/a", "/etc/b"].map((path) => ({ type: "diff", path, newText: "x" }))
    const seen = merged(undefined, { id: "c1", kind: "edit", title: "Edits", content }, false)
    expect(argumentsOf(seen)).toEqual({ args: { title: "Edits", paths: ["/project/a", "/etc/b"] }, inexact: true })
  })

  test("the name of a command is decided by the text of the question if that differs from the announced one", () => {
    const seen = merged(undefined, { id: "c1", kind: "execute", rawInput: { command: "ls" } }, true)
    const asked = { id: "c1", kind: "execute", rawInput: { command: "rm -rf ." } }
    expect(argumentsOf(seen, asked)).toEqual({ args: { command: "rm -rf ." }, inexact: true })
  })
})

describe("a failure", () => {
  const reply = (agent: AcpAgent, code: number, message: string, data?: Json) =>
    replyError(agent, { method: "session/prompt", code, message, ...(data !== undefined && { data }) }).code

  test.each([
    [geminiAgent, 401, "UNAUTHENTICATED", undefined, "auth"],
    [geminiAgent, 429, "quota", undefined, "rate_limited"],
    [geminiAgent, 500, "Internal", undefined, "provider_error"],
    [geminiAgent, 500, "terminated", undefined, "stream_incomplete"],
    [opencodeAgent, -32603, "Incorrect API key provided.", { errorName: "APIError" }, "auth"],
    [opencodeAgent, -32603, "gone", { errorName: "ProviderModelNotFoundError" }, "model_not_found"],
    [opencodeAgent, -32603, "Incorrect API key provided.", undefined, "provider_error"],
    [copilotAgent, -32000, "Authentication required", undefined, "auth"],
  ] as const)("a failure of %s is typed by its flags (%i, %s)", (agent, code, message, data, expected) => {
    expect(reply(agent, code, message, data)).toBe(expected)
  })

  test("a text of Copilot is a failure only if the model used nothing, or the words are certain", () => {
    const told = (text: string, hasUsage: boolean) => toldFailure(copilotAgent, text, hasUsage)?.code
    expect(told("Error: Failed to get response from the AI model; Last error: 429 Rate limit", true)).toBe(
      "rate_limited",
    )
    expect(told("Error: Authentication failed with provider (HTTP 401).", false)).toBe("auth")
    expect(told("Error: something else", false)).toBe("provider_error")
    expect(told("Error: the test fails in line 3", true)).toBeUndefined()
    expect(toldFailure(geminiAgent, "Error: something else", false)).toBeUndefined()
  })
})

test("counts of a process are turned into those of one prompt, also after it began anew", () => {
  const count = (inputTokens: number, outputTokens: number) => ({
    ...{ inputTokens, outputTokens },
    ...{ cacheReadTokens: 0, cacheWriteTokens: 0 },
  })
  expect(usedSince(count(100, 10), count(250, 15))).toEqual(count(150, 5))
  expect(usedSince(count(100, 10), count(40, 4))).toEqual(count(40, 4))
})

test("an image of a result reaches the outcome, and content that is neither text nor an image is left out", () => {
  const content = [
    { type: "content", content: { type: "image", mimeType: "image/png", data: "iVBO" } },
    { type: "content", content: { type: "audio", data: "x" } },
  ]
  expect(outcomeOf({ id: "c1", status: "completed", content })).toEqual({
    status: "ok",
    output: [{ type: "image", mediaType: "image/png", data: "iVBO" }],
  })
})

test("a change of a file reaches the outcome by its path, without the file's text", () => {
  const content = [{ type: "diff", path: "/project/a", oldText: "old", newText: "new" }]
  expect(outcomeOf({ id: "c1", status: "completed", content })).toEqual({
    status: "ok",
    output: [{ type: "text", text: "Changed /project/a" }],
  })
})
