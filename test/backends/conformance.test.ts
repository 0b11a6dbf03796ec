import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { type AgentTools, createAgentTools } from "../../src/hosts/node/agent-tools.ts"
import { type Served, serve } from "../../src/hosts/node/http/serve.ts"
import { createMcpHandler } from "../../src/hosts/node/mcp/http.ts"
import { conformanceTools } from "./conformance-tools.ts"
import { programs, runProgram } from "./programs.ts"

/** The server scenarios that a tool server can pass. */
const applying = [
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-image",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-error",
  "tools-call-with-progress",
  "json-schema-2020-12",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
]

/** All others, each with its missing requirement. */
const notApplying: Readonly<Record<string, string>> = {
  "logging-set-level": "we send no log messages",
  "tools-call-with-logging": "we send no log messages",
  "completion-complete": "there are no prompts to complete",
  "tools-call-audio": "a tool of ours returns text, images and files",
  "tools-call-sampling": "a tool of ours asks the client for nothing",
  "tools-call-elicitation": "a tool of ours asks the client for nothing",
  "elicitation-sep1034-defaults": "a tool of ours asks the client for nothing",
  "elicitation-sep1330-enums": "a tool of ours asks the client for nothing",
  "server-sse-polling": "answers that broke off are not kept to be resumed",
  "resources-list": "there are no resources",
  "resources-read-text": "there are no resources",
  "resources-read-binary": "there are no resources",
  "resources-templates-read": "there are no resources",
  "resources-subscribe": "there are no resources",
  "resources-unsubscribe": "there are no resources",
  "prompts-list": "there are no prompts",
  "prompts-get-simple": "there are no prompts",
  "prompts-get-with-args": "there are no prompts",
  "prompts-get-embedded-resource": "there are no prompts",
  "prompts-get-with-image": "there are no prompts",
}

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

const scratch = mkdtempSync(join(tmpdir(), "longhaul-conformance-"))
const rows: string[] = []
let tools: AgentTools
let server: Served

beforeAll(async () => {
  vi.stubEnv("LONGHAUL_STORE", join(scratch, "state"))
  mkdirSync(join(scratch, "root"))
  const token = "conformance"
  tools = createAgentTools({ root: join(scratch, "root"), tools: conformanceTools })
  const handler = await createMcpHandler(tools, { version: "1", token })
  // The suite does not support tokens: a proxy adds ours and leaves everything else unchanged.
  const served = await serve((request) => {
    const headers = new Headers(request.headers)
    headers.set("authorization", `Bearer ${token}`)
    return handler.fetch(new Request(request, { headers }))
  })
  server = {
    ...served,
    async close() {
      await served.close()
      await handler.close()
    },
  }
})
afterAll(async () => {
  await server.close()
  await tools.close()
  rmSync(scratch, { recursive: true, force: true })
  const others = Object.entries(notApplying).map(([scenario, why]) => `${scenario.padEnd(32)} not run: ${why}`)
  console.log([`MCP conformance, server scenarios: passed/failed checks`, ...rows, ...others].join("\n"))
})

function conformance(...args: readonly string[]) {
  const env = { PATH: process.env.PATH ?? "", HOME: scratch, NO_COLOR: "1" }
  return runProgram(programs.node22, [programs.conformance, ...args], { cwd: scratch, env })
}

test("every server scenario of the suite is run or has a reason for being skipped", async () => {
  const { stdout } = await conformance("list")
  const [servers = ""] = stdout.split("Client scenarios")
  const scenarios = Array.from(servers.matchAll(/^ +- (\S+)/gm), ([, name]) => name)
  expect([...applying, ...Object.keys(notApplying)].toSorted()).toEqual(scenarios.toSorted())
})

test.each(applying)("MCP conformance: %s", async (scenario) => {
  const results = join(scratch, scenario)
  const url = `${server.url}/mcp`
  const { code, stdout, stderr } = await conformance("server", "--url", url, "--scenario", scenario, "-o", results)
  const [run = "nothing"] = readdirSync(results)
  const checks = JSON.parse(readFileSync(join(results, run, "checks.json"), "utf8")) as readonly Check[]
  const passed = checks.filter(({ status }) => status === "SUCCESS").length
  rows.push(`${scenario.padEnd(32)} ${passed}/${checks.length - passed}`)
  // The suite counts a scenario without a check, or with a warning, as a success.
  expect(checks.length, stdout + stderr).toBeGreaterThan(0)
  expect(checks.filter(({ status }) => status !== "SUCCESS")).toEqual([])
  expect(code).toBe(0)
})
