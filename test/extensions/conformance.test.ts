import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, expect, test } from "vitest"
import { WATCHDOG_MS } from "../support/watchdog.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const installed = `${root}.extensions/node_modules`
const node = `${installed}/node/bin/node`
const suite = `${installed}/@modelcontextprotocol/conformance/dist/index.js`
const client = `${process.execPath} test/extensions/conformance-client.mjs`

const run = promisify(execFile)
const scenarios = await listed()
const total = { scenarios: 0, passed: 0 }

/** The suite's own list, so that a new scenario cannot be missed. */
async function listed(): Promise<readonly string[]> {
  const { stdout } = await run(node, [suite, "list"], { cwd: root })
  const [, clients = ""] = stdout.split("Client scenarios")
  return Array.from(clients.matchAll(/^ {2}- (\S+)/gm), ([, name = ""]) => name)
}

/** The suite fails open: a client that does nothing passes with no check at all. */
function counted(output: string) {
  const [, passed, checks, failed, warnings] = /Passed: (\d+)\/(\d+), (\d+) failed, (\d+) warnings/.exec(output) ?? []
  return { passed: Number(passed), checks: Number(checks), failed: Number(failed), warnings: Number(warnings) }
}

test("the suite has 26 scenarios for clients", () => {
  expect(scenarios).toHaveLength(26)
})

test.each(scenarios)("our client passes every check of the scenario %s", async (scenario) => {
  const args = [suite, "client", "--command", client, "--scenario", scenario]
  const { stdout, stderr } = await run(node, args, { cwd: root, timeout: WATCHDOG_MS }).catch((error) => error)
  const output = `${stdout}${stderr}`
  const { passed, checks, failed, warnings } = counted(output)
  expect({ failed, warnings }, output).toEqual({ failed: 0, warnings: 0 })
  expect(checks).toBeGreaterThan(0)
  expect(passed).toBe(checks)
  expect(output).not.toContain("CLIENT EXITED WITH ERROR")
  total.scenarios++
  total.passed += passed
})

afterAll(() => {
  console.log(
    `conformance: ${total.scenarios} of ${scenarios.length} scenarios, ${total.passed} checks passed, 0 empty`,
  )
})
