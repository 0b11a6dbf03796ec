import { expect, test } from "vitest"
import type { Message } from "../contract/message.ts"
import type { AnswerCall } from "../contract/provider.ts"
import type { ToolStatus } from "../contract/tool.ts"
import { offlineModel } from "./index.ts"

const label = "[offline model: rules, not an LLM]"
const everyTool = ["List", "Grep", "Read", "Write"]

/** A workspace as the tools would show it: output by tool and argument. */
const workspace = {
  "List .": "README.md\nnotes/\nplan.md\nsecret.txt",
  Grep: "notes/a.md:3:the budget is 40\nnotes/a.md:9:Budget again\nplan.md:2:no budget yet",
  "Read notes/a.md": "1\t# Alpha\n2\t\n3\tthe budget is 40\n4\tand more",
  "Read plan.md": "1\tPlan of work\n2\tno budget yet",
  "Read README.md": "1\t# Readme",
  "Read secret.txt": { status: "denied", text: "secret.txt is off limits" },
  "Write report.md": "Wrote report.md",
} as const

type Workspace = Readonly<Record<string, string | { readonly status: ToolStatus; readonly text: string }>>

test("the offline model lists, searches, reads what it found, writes a report and says so", async () => {
  const run = await play('Find every mention of "budget" and write a report to report.md', everyTool, workspace)
  expect(run.calls.map(({ name }) => name)).toEqual([...["List", "Grep", "Read", "Read", "Read", "Read", "Write"]])
  expect(run.calls[1]?.args).toEqual({ pattern: "budget|Budget|BUDGET", path: "." })
  expect(run.paths("Read")).toEqual(["notes/a.md", "plan.md", "README.md", "secret.txt"])
  expect(run.report).toContain("3 matching lines in 2 files")
  expect(run.report).toContain("notes/a.md:3: the budget is 40")
  expect(run.report).toContain("# Alpha")
  expect(run.report).toContain("plan.md: 2 lines read")
  expect(run.report).toContain("Read secret.txt: denied: secret.txt is off limits")
  expect(run.texts.every((text) => text.startsWith(label))).toBe(true)
  expect(run.texts.at(-1)).toContain("Wrote report.md.")
})

test("the offline model's report depends only on the tool results", async () => {
  const task = 'Find "budget" and write report.md'
  const before = await play(task, everyTool, workspace)
  const again = await play(task, everyTool, workspace)
  const after = await play(task, everyTool, { ...workspace, "Read plan.md": "1\tPlan B\n2\tno budget yet" })
  expect(again.report).toBe(before.report)
  expect(before.report).toContain("- Plan of work")
  expect(after.report).toBe(before.report.replace("- Plan of work", "- Plan B"))
})

test("the offline model reads files named in the task, and reports missing ones", async () => {
  const missing = { "Read lost.md": { status: "error", text: "not_found: lost.md" } } as const
  const run = await play("Summarise lost.md", ["Read"], missing)
  expect(run.paths("Read")).toEqual(["lost.md"])
  expect(run.texts.at(-1)).toContain("Read lost.md: error: not_found: lost.md")
})

test("the offline model reports that a denied write was not made", async () => {
  const denied = { ...workspace, "Write report.md": { status: "denied", text: "read only" } } as const
  const run = await play('Look for "budget", save it to report.md', everyTool, denied)
  expect(run.paths("Write")).toEqual(["report.md"])
  expect(run.texts.at(-1)).toContain("report.md was not written.")
  expect(run.texts.at(-1)).toContain("Write report.md: denied: read only")
})

test("the offline model does not read its own earlier report", async () => {
  const run = await play('Find "budget" and write report.md', everyTool, {
    ...workspace,
    "List .": "plan.md\nreport.md",
  })
  expect(run.paths("Read")).toEqual(["notes/a.md", "plan.md"])
})

test("the offline model distinguishes source and target of a write", async () => {
  const run = await play("Write a summary of plan.md to report.md", ["Read", "Write"], workspace)
  expect(run.paths("Read")).toEqual(["plan.md"])
  expect(run.paths("Write")).toEqual(["report.md"])
})

test("the offline model works with some tools or none", async () => {
  const listing = await play("What is here?", ["List"], workspace)
  expect(listing.calls).toHaveLength(1)
  expect(listing.texts.at(-1)).toContain("4 entries")
  const nothing = await play("What is here?", [], workspace)
  expect(nothing.calls).toHaveLength(0)
  expect(nothing.texts).toEqual([`${label} Nothing was inspected: no suitable tool was offered.`])
})

test("the offline model reads at most five files", async () => {
  const many = Array.from({ length: 9 }, (_, index) => `file${index}.md`)
  const run = await play("What is here?", ["List", "Read"], { "List .": many.join("\n") })
  expect(run.paths("Read")).toEqual(many.slice(0, 5))
})

test("the offline model costs nothing and reports it", async () => {
  const conversation = offlineModel().converse({ tools: [], transport })
  const { usage } = await conversation.call([userMessage("hi")], {}, new AbortController().signal)
  expect(usage).toEqual({ inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 })
})

const transport = { stream: () => Promise.reject(new Error("no network")) }

function userMessage(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] }
}

/** Simulates the loop: calls the model and answers each tool call from the workspace, until there are no more calls. */
async function play(task: string, tools: readonly string[], results: Workspace) {
  const specs = tools.map((name) => ({ name, description: "", inputSchema: { type: "object" } }))
  const conversation = offlineModel().converse({ tools: specs, transport })
  const messages: Message[] = [userMessage(task)]
  const calls: AnswerCall[] = []
  const texts: string[] = []
  for (let turn = 0; turn < 6; turn++) {
    const { parts } = await conversation.call(messages, {}, new AbortController().signal)
    const asked = parts.filter((part) => part.type === "tool-call")
    calls.push(...asked)
    texts.push(...parts.flatMap((part) => (part.type === "text" ? [part.text] : [])))
    if (asked.length === 0) break
    messages.push({ role: "assistant", content: asked.map((call) => ({ ...call, callId: call.wireId })) })
    messages.push({
      role: "tool",
      content: asked.map((call) => {
        const found = results[call.name] ?? results[`${call.name} ${pathOf(call)}`] ?? ""
        const { status, text } = typeof found === "string" ? ({ status: "ok", text: found } as const) : found
        return { type: "tool-result", callId: call.wireId, status, output: [{ type: "text", text }] }
      }),
    })
  }
  const write = calls.find(({ name }) => name === "Write")?.args as { readonly content: string } | undefined
  const paths = (name: string) => calls.filter((call) => call.name === name).map(pathOf)
  return { calls, texts, paths, report: write?.content ?? "" }
}

function pathOf(call: AnswerCall): string {
  return (call.args as { readonly path: string }).path
}
