import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterAll, expect, test } from "vitest"
import { PolicyClient } from "../src/policy/service/index.ts"

const folder = mkdtempSync(join(tmpdir(), "longhaul-serve-"))
afterAll(() => rmSync(folder, { recursive: true }))

const program = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url))

test("longhaul policy serve answers clients by a policy file and appends each decision to its audit log", async () => {
  const file = join(folder, "longhaul.policy.yaml")
  writeFileSync(
    file,
    'version: 1\ndefault: allow\nrules:\n  - deny: { tool: Bash, command: "rm **" }\n    reason: Nothing is deleted.\n',
  )
  const audit = join(folder, "audit.jsonl")
  const { LONGHAUL_POLICY_API_KEY: _, ...env } = process.env
  const server = spawn(process.execPath, [program, "policy", "serve", file, "--audit", audit, "--json"], { env })
  try {
    const [line] = (await once(createInterface(server.stdout), "line")) as [string]
    const { url, apiKey } = JSON.parse(line) as { readonly url: string; readonly apiKey: string }
    const policy = new PolicyClient({ baseUrl: url, apiKey, allowInsecureTransport: true })
    const run = (command: string) =>
      policy.runTool({
        sessionId: "s",
        toolName: "Bash",
        toolInput: { command },
        execute: (input) => `ran ${input.command}`,
      })
    expect(await run("ls -l")).toBe("ran ls -l")
    await expect(run("ls; /bin/rm -rf x")).rejects.toThrow("Bash was denied: Nothing is deleted.")
    const stranger = new PolicyClient({ baseUrl: url, apiKey: "another-key-here", allowInsecureTransport: true })
    expect(await stranger.preTool({ sessionId: "s", toolName: "Read", toolInput: {} })).toMatchObject({
      decision: "deny",
    })
    const lines = readFileSync(audit, "utf8").trimEnd().split("\n")
    expect(lines.map((each) => JSON.parse(each).verdict.decision)).toEqual(["allow", "allow", "deny"])
    expect(statSync(audit).mode & 0o777).toBe(0o600)
    expect(readFileSync(audit, "utf8")).not.toContain(apiKey)
  } finally {
    server.kill("SIGTERM")
    if (server.exitCode === null) await once(server, "exit")
  }
  expect(server.exitCode).toBe(0)
})

test("a policy file with a problem is not served", async () => {
  const file = join(folder, "longhaul.policy.json")
  writeFileSync(file, '{"version":1,"rules":[{"dney":{"tool":"Bash"}}]}')
  const server = spawn(process.execPath, [program, "policy", "serve", file])
  let stderr = ""
  server.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text
  })
  const [code] = await once(server, "close")
  expect([code, stderr.includes("dney")]).toEqual([1, true])
})
