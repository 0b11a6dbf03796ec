import { expect, onTestFinished, test, vi } from "vitest"
import type { LineChannel, ProgramExit } from "../../contract/backend-env.ts"
import type { JsonObject } from "../../contract/json.ts"
import { Inbox } from "../claude/inbox.ts"
import { ControlProtocol } from "./protocol.ts"

/** A program that answers each line that it gets. */
function scripted(answer: (line: JsonObject) => readonly unknown[], openMs = 60_000) {
  const output = new Inbox<string>()
  const received: JsonObject[] = []
  let exited: (exit: ProgramExit) => void = () => {}
  const exit = new Promise<ProgramExit>((resolve) => (exited = resolve))
  const stop = (stderr = "") => {
    output.end()
    exited({ code: 1, signal: null, stderr })
  }
  const channel: LineChannel = {
    lines: {
      async *[Symbol.asyncIterator]() {
        for (let line = await output.next(); line !== undefined; line = await output.next()) yield line
      },
    },
    async send(line) {
      const message: JsonObject = JSON.parse(line)
      received.push(message)
      for (const each of answer(message)) output.push(typeof each === "string" ? each : JSON.stringify(each))
    },
    endInput: () => stop(),
    end: async () => stop(),
    exit,
  }
  const protocol = new ControlProtocol(channel, { openMs, replyMs: openMs, stopMs: openMs })
  return { protocol, received, output, stop, exited: (code: number) => exited({ code, signal: null, stderr: "" }) }
}

const replied = (response: object) => (message: JsonObject) => [
  { type: "control_response", response: { subtype: "success", request_id: message.request_id, response } },
]
const opened = replied({ hook_on_failure_supported: true, claude_code_version: "2.1.325" })

test("the hook is registered for every tool, and blocks if it fails", async () => {
  const { protocol, received } = scripted(opened)
  expect((await protocol.open({ appendSystemPrompt: "x" })).version).toBe("2.1.325")
  expect(received[0]).toMatchObject({
    request: {
      subtype: "initialize",
      appendSystemPrompt: "x",
      hooks: { PreToolUse: [{ matcher: "*", onFailure: "block" }] },
    },
  })
})

test("a program whose hooks fail open is refused", async () => {
  const { protocol } = scripted(replied({ claude_code_version: "1.0.0" }))
  await expect(protocol.open({})).rejects.toMatchObject({ code: "capability_mismatch" })
})

test("a program that does not answer is not opened", async () => {
  const { protocol } = scripted(() => [], 1)
  await expect(protocol.open({})).rejects.toMatchObject({ code: "backend_protocol" })
})

test("a program that says that it has no such conversation has lost the session", async () => {
  const result = { type: "result", num_turns: 0, errors: ["No conversation found with session ID: x"] }
  const { protocol, stop } = scripted(() => {
    queueMicrotask(() => stop("No conversation found"))
    return [result]
  })
  await expect(protocol.open({})).rejects.toMatchObject({ code: "session_lost" })
})

test("a program that ends before it is open has crashed, with the end of its error output", async () => {
  const { protocol, stop } = scripted(() => {
    queueMicrotask(() => stop("unknown option"))
    return []
  })
  await expect(protocol.open({})).rejects.toMatchObject({
    code: "backend_crashed",
    message: expect.stringContaining("unknown option"),
  })
})

test("a program whose output ends some time before it exits has crashed, too", async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { protocol, output, exited } = scripted(() => {
    output.end()
    return []
  })
  const opening = protocol.open({}).catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(1000)
  exited(7)
  expect(await opening).toMatchObject({ code: "backend_crashed", message: expect.stringContaining("exit 7") })
})

test.each(["garbage", "[1]", "null", '{"type":'])("the line %s is a failure of the protocol", async (line) => {
  const { protocol, output } = scripted(opened)
  const program = await protocol.open({})
  output.push(line)
  await expect(program.next()).rejects.toMatchObject({ code: "backend_protocol" })
})

test("a request of an unknown kind is answered with an error at once", async () => {
  const { protocol, output, received } = scripted((message) =>
    message.type === "control_request" ? opened(message) : [],
  )
  const program = await protocol.open({})
  output.push(JSON.stringify({ type: "control_request", request_id: "q1", request: { subtype: "elicitation" } }))
  output.push(JSON.stringify({ type: "system" }))
  await program.next()
  expect(received.at(-1)).toMatchObject({ type: "control_response", response: { subtype: "error", request_id: "q1" } })
})

test("questions come in the order of the messages, and their answers have the id of the question", async () => {
  const { protocol, output, received } = scripted((message) =>
    message.type === "control_request" ? opened(message) : [],
  )
  const program = await protocol.open({})
  const input = { tool_name: "Bash", tool_input: { command: "ls" }, tool_use_id: "c1", agent_id: "a" }
  output.push(JSON.stringify({ type: "assistant" }))
  output.push(
    JSON.stringify({ type: "control_request", request_id: "q1", request: { subtype: "hook_callback", input } }),
  )
  expect(await program.next()).toMatchObject({ kind: "message" })
  const hook = await program.next()
  expect(hook).toMatchObject({
    kind: "hook",
    question: { callId: "c1", name: "Bash", args: { command: "ls" }, nested: true },
  })
  if (hook?.kind === "hook") hook.answer({ kind: "deny", reason: "no" })
  expect(received.at(-1)).toMatchObject({
    response: { request_id: "q1", response: { hookSpecificOutput: { permissionDecision: "deny" } } },
  })
})

test("a program that writes something else than messages before it is open is named with that line", async () => {
  const { protocol } = scripted(() => ["Warning: a new version is available"])
  const message = expect.stringContaining("Warning: a new version")
  await expect(protocol.open({})).rejects.toMatchObject({ code: "backend_protocol", message })
})
