import { describe, expect, test } from "vitest"
import type { JsonObject } from "../contract/json.ts"
import type { ToolContext } from "../contract/tool.ts"
import { createDispatcher, type Dispatcher, taskTools } from "./index.ts"

const { signal } = new AbortController()
let calls = 0

async function call(dispatcher: Dispatcher, name: string, args: JsonObject, changed: Partial<ToolContext> = {}) {
  const context = {
    signal,
    idempotencyKey: `key ${++calls}`,
    workspaceId: "default",
    runScope: "run",
    runId: "run",
    callId: "",
    cwd: "/",
    env: {},
    progress() {},
  }
  return (await dispatcher.callTool(name, args, { ...context, ...changed })).text
}
const codeOf = (text: string) => (JSON.parse(text) as { error: { code: string } }).error.code

describe("taskTools", () => {
  test("taskTools has two read-only tools and two that write, all repeatable", () => {
    expect(taskTools().map(({ name, effect, concurrent, risk }) => [name, effect, concurrent, risk])).toEqual([
      ["TaskCreate", "repeatable", false, "low"],
      ["TaskGet", "none", true, "low"],
      ["TaskList", "none", true, "low"],
      ["TaskUpdate", "repeatable", false, "low"],
    ])
  })

  test("taskTools keeps a list from creation to completion", async () => {
    const dispatcher = createDispatcher(taskTools())
    expect(await call(dispatcher, "TaskList", {})).toBe("There are no tasks.")
    expect(await call(dispatcher, "TaskCreate", { subject: "Read" })).toBe("Created task 1: Read")
    expect(await call(dispatcher, "TaskCreate", { subject: "Write", description: "All of it" })).toBe(
      "Created task 2: Write",
    )
    expect(await call(dispatcher, "TaskUpdate", { id: "1", status: "in_progress" })).toBe("1 [in_progress] Read")
    expect(await call(dispatcher, "TaskUpdate", { id: "2", subject: "Rewrite" })).toBe("2 [pending] Rewrite\nAll of it")
    expect(await call(dispatcher, "TaskUpdate", { id: "1", status: "completed", description: "" })).toBe(
      "1 [completed] Read",
    )
    expect(await call(dispatcher, "TaskList", {})).toBe("1 [completed] Read\n2 [pending] Rewrite")
    expect(await call(dispatcher, "TaskGet", { id: "2" })).toBe("2 [pending] Rewrite\nAll of it")
    expect(codeOf(await call(dispatcher, "TaskGet", { id: "3" }))).toBe("not_found")
    expect(codeOf(await call(dispatcher, "TaskUpdate", { id: "__proto__", status: "completed" }))).toBe("not_found")
  })

  test("a repeated TaskCreate call creates no second task", async () => {
    const dispatcher = createDispatcher(taskTools())
    const again = { idempotencyKey: "same" }
    for (let time = 0; time < 3; time++) {
      expect(await call(dispatcher, "TaskCreate", { subject: "Once" }, again)).toBe("Created task 1: Once")
    }
    expect(await call(dispatcher, "TaskCreate", { subject: "Once" })).toBe("Created task 2: Once")
    expect(await call(dispatcher, "TaskList", {})).toBe("1 [pending] Once\n2 [pending] Once")
  })

  test("each run and each set of tools has its own list", async () => {
    const [one, two] = [createDispatcher(taskTools()), createDispatcher(taskTools())]
    await call(one, "TaskCreate", { subject: "Mine" }, { runScope: "a" })
    expect(await call(one, "TaskList", {}, { runScope: "b" })).toBe("There are no tasks.")
    expect(await call(two, "TaskList", {}, { runScope: "a" })).toBe("There are no tasks.")
    expect(codeOf(await call(one, "TaskGet", { id: "1" }, { runScope: "b" }))).toBe("not_found")
  })

  test("neither a task list nor the number of lists grows without bound", async () => {
    const dispatcher = createDispatcher(taskTools({ maxRuns: 2 }))
    for (let task = 0; task < 200; task++) await call(dispatcher, "TaskCreate", { subject: "x" }, { runScope: "a" })
    expect(codeOf(await call(dispatcher, "TaskCreate", { subject: "x" }, { runScope: "a" }))).toBe("conflict")
    await call(dispatcher, "TaskCreate", { subject: "x" }, { runScope: "b" })
    for (let run = 0; run < 5; run++) await call(dispatcher, "TaskList", {}, { runScope: `looks ${run}` })
    expect(await call(dispatcher, "TaskGet", { id: "200" }, { runScope: "a" })).toBe("200 [pending] x")
    await call(dispatcher, "TaskCreate", { subject: "x" }, { runScope: "c" })
    expect(await call(dispatcher, "TaskList", {}, { runScope: "a" })).toBe("There are no tasks.")
    expect(await call(dispatcher, "TaskList", {}, { runScope: "b" })).toBe("1 [pending] x")
  })

  test("text that is too long or an unknown task is rejected, and a task is one line", async () => {
    const dispatcher = createDispatcher(taskTools())
    for (const args of [
      {},
      { subject: "" },
      { subject: "x".repeat(201) },
      { subject: "x", description: "x".repeat(2001) },
    ]) {
      expect(codeOf(await call(dispatcher, "TaskCreate", args))).toBe("invalid_input")
    }
    await call(dispatcher, "TaskCreate", { subject: "one\n2 [completed] forged" })
    expect(codeOf(await call(dispatcher, "TaskUpdate", { id: "1", status: "done" }))).toBe("invalid_input")
    expect(await call(dispatcher, "TaskList", {})).toBe("1 [pending] one\\x0a2 [completed] forged")
  })
})
