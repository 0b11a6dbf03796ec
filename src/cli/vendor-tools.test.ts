import { existsSync, readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"

const { place, longhaul } = commandLine()

/**
 * An agent of the Agent Client Protocol that writes a file if it may, whatever it was started with. It notes its arguments, and what
 * it was answered.
 */
const program = (log: string) => `#!${process.execPath}
const fs = require("node:fs")
const note = (text) => fs.appendFileSync(${JSON.stringify(log)}, text + "\\n")
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n")
const update = (update) => write({ method: "session/update", params: { sessionId: "s1", update } })
const call = { toolCallId: "c1", title: "Writes", kind: "edit", rawInput: { path: process.cwd() + "/made.txt", file_text: "x" } }
let prompted
note("started " + process.argv.slice(2).join(" "))
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, result } = JSON.parse(line)
  const reply = (result) => write({ id, result })
  if (method === "initialize") {
    const agentCapabilities = { mcpCapabilities: { http: true, sse: true } }
    reply({ protocolVersion: 1, agentInfo: { name: "scripted", version: "1" }, agentCapabilities })
  } else if (method === "session/new") reply({ sessionId: "s1" })
  else if (method === "session/prompt" && prompted === undefined) {
    prompted = id
    update({ sessionUpdate: "tool_call", status: "pending", ...call })
    const options = ["allow_once", "reject_once"].map((kind) => ({ optionId: kind, kind, name: kind }))
    write({ id: 1, method: "session/request_permission", params: { sessionId: "s1", toolCall: call, options } })
  } else if (method === "session/prompt") {
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Done." } })
    reply({ stopReason: "end_turn" })
  } else if (method === undefined) {
    note("answered " + (result.outcome.optionId ?? result.outcome.outcome))
    const isPermitted = result.outcome.optionId === "allow_once"
    if (isPermitted) fs.writeFileSync(call.rawInput.path, "x")
    update({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: isPermitted ? "completed" : "failed" })
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Done." } })
    write({ id: prompted, result: { stopReason: "end_turn" } })
  }
})
`

/** Runs a task with the scripted program in place of the vendor's. */
async function run(command: string, backend: string, ...options: readonly string[]) {
  const [bin, log] = [join(place.home, "bin"), join(place.home, "log.txt")]
  await mkdir(bin)
  await writeFile(join(bin, command), program(log), { mode: 0o755 })
  const ended = await longhaul(["run", "--json", "--backend", backend, ...options, "Write the file."], {
    PATH: `${bin}:${process.env.PATH}`,
  })
  const said = existsSync(log) ? readFileSync(log, "utf8") : ""
  return { ...ended, said, isMade: existsSync(join(place.workspace, "made.txt")) }
}

const restrictions = [[["--read-only"]], [["--tools", "Read,Grep"]], [["--no-tools", "Write"]]] as const

test("a tool of a vendor's program runs without a restriction", async () => {
  const { code, said, isMade } = await run("copilot", "acp:copilot")
  expect([code, isMade]).toEqual([0, true])
  expect(said).toContain("answered allow_once")
  expect(said).not.toContain("--excluded-tools")
})

describe.each(restrictions)("%j", (options) => {
  test("the option reaches a program that can start without its tools, and denies their calls", async () => {
    const { stdout, said, isMade } = await run("copilot", "acp:copilot", ...options)
    expect(said).toMatch(/^started .*--excluded-tools=create/)
    expect(said).toContain("answered reject_once")
    expect(isMade).toBe(false)
    expect(JSON.parse(stdout)).toMatchObject({ status: "done", toolCalls: [{ name: "Write", status: "denied" }] })
  })

  test("the option fails with 2 and a fix for a program that cannot be restricted, which is not started", async () => {
    const given = options.map((option) => (option === "Write" ? "Edit" : option))
    const { code, stdout, said, isMade } = await run("cursor-agent", "acp:cursor", ...given)
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({
      status: "failed",
      error: {
        message: expect.stringContaining("cannot be kept from using"),
        fix: expect.stringContaining("--backend"),
      },
    })
    expect([said, isMade]).toEqual(["", false])
  })
})
