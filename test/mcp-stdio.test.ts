import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "./support/command-line.ts"
import { countLiving, isRunning, uniqueSleep } from "./support/shell-scene.ts"
import { until } from "./support/watchdog.ts"

const { place, start, longhaul } = commandLine()

const clientInfo = { name: "test", version: "1" }
const opening = [
  { id: "open", method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
  { method: "notifications/initialized" },
]

function bash(id: string, args: object) {
  return { id, method: "tools/call", params: { name: "Bash", arguments: args } }
}

/** A server that received these messages. */
function served(messages: readonly object[], args: readonly string[] = []) {
  const server = start(["mcp", ...args])
  for (const message of [...opening, ...messages]) {
    server.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  }
  return server
}

const hasAnswered = (shown: { readonly stdout: string }, id: string) => shown.stdout.includes(`"id":"${id}"`)

/** A server in the middle of one command, with another in the background. */
async function busyServer() {
  const sleeps = [uniqueSleep(), uniqueSleep()]
  const [foreground = "", background = ""] = sleeps
  const server = served([
    bash("background", { command: background, background: true }),
    bash("foreground", { command: foreground }),
  ])
  await until(() => sleeps.every(isRunning) && hasAnswered(server.shown, "background"))
  return { ...server, sleeps }
}

describe("MCP on stdin and stdout", () => {
  test.each([
    ["the end of its input", "end"],
    ["SIGINT", "SIGINT"],
    ["SIGTERM", "SIGTERM"],
    ["SIGHUP", "SIGHUP"],
  ] as const)("the server exits with 0 on %s, with all its commands", async (_, how) => {
    const { child, ended, sleeps } = await busyServer()
    if (how === "end") child.stdin.end()
    else child.kill(how)
    expect((await ended).code).toBe(0)
    expect(sleeps.map(countLiving)).toEqual([0, 0])
  })

  test("a call that the file of --policy denies is refused, and other calls run", async () => {
    const policy = join(place.home, "strict.yaml")
    writeFileSync(policy, 'rules:\n  - deny: { tool: Read, path: "tide.txt" }\n    reason: It is not your tide.\n')
    writeFileSync(join(place.workspace, "moon.txt"), "full\n")
    const read = (id: string, path: string) => ({
      id,
      method: "tools/call",
      params: { name: "Read", arguments: { path } },
    })
    const { child, ended, shown } = served(
      [read("denied", "tide.txt"), read("allowed", "moon.txt")],
      ["--policy", policy],
    )
    await until(() => ["denied", "allowed"].every((id) => hasAnswered(shown, id)))
    child.stdin.end()
    expect((await ended).code).toBe(0)
    const answers = shown.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id?: string; result?: object })
    const resultOf = (id: string) => answers.find((answer) => answer.id === id)?.result
    expect(resultOf("denied")).toMatchObject({ isError: true })
    expect(JSON.stringify(resultOf("denied"))).toContain("It is not your tide.")
    expect(resultOf("allowed")).toMatchObject({ isError: false })
    expect(shown.stdout).not.toContain("04:17")
  })

  test("the server exits when its output is closed", async () => {
    const { child, ended, sleeps } = await busyServer()
    child.stdout.destroy()
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: "unread", method: "ping" })}\n`)
    expect((await ended).code).toBe(0)
    expect(sleeps.map(countLiving)).toEqual([0, 0])
  })

  test("the server writes only the protocol to stdout and nothing to stderr", async () => {
    const { child, ended, shown } = served([bash("call", { command: "echo out; echo err >&2" })])
    child.stdin.write("this is no message\n\n")
    await until(() => hasAnswered(shown, "call"))
    child.stdin.end()
    const { code, stdout, stderr } = await ended
    expect([code, stderr]).toEqual([0, ""])
    const messages = stdout.trimEnd().split("\n")
    expect(messages.map((line) => JSON.parse(line).jsonrpc)).toEqual(messages.map(() => "2.0"))
  })

  test("the server with --json prints what it serves on stderr", async () => {
    const { child, ended } = served([], ["--json", "--read-only"])
    child.stdin.end()
    const { stderr } = await ended
    const tools = ["Read", "List", "Glob", "Grep"]
    expect(JSON.parse(stderr)).toEqual({ type: "serving", transport: "stdio", root: place.workspace, tools })
  })

  test("the server exits instead of waiting for an endless message", async () => {
    const { child, ended } = served([])
    child.stdin.on("error", () => {})
    child.stdin.write("x".repeat(11 * 1024 * 1024))
    expect((await ended).code).toBe(0)
  })
})

test.each([
  [["--root", "nowhere"], 1, /The folder .*nowhere.* does not exist/],
  [["--port", "1"], 2, /--host and --port require --http/],
  [["--http", "--port", "65536"], 2, /Invalid value for --port: "65536"/],
  [["--sandbox", "maybe"], 2, /Invalid value for --sandbox: "maybe"/],
  [["here"], 2, /Unexpected argument for mcp: "here"/],
] as const)("mcp %j is rejected, and stdout stays empty", async (args, code, message) => {
  const ended = await longhaul(["mcp", ...args])
  expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(message) })
})
