import { expect, test } from "vitest"
import { createRuntime } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"

/** The warnings of a run with one server: a command line of the shell. */
async function warningsOf(line: string, env: Readonly<Record<string, string>> = {}) {
  const mcpServers = { broken: { command: "sh", args: ["-c", line], env } }
  const runtime = createRuntime({
    model: scriptedModel(["Done."]),
    store: memoryStore(),
    tools: [],
    mcpServers,
    env: {},
  })
  const { status, warnings } = await runtime.run({ task: "x" })
  await runtime.close()
  expect(status).toBe("done")
  return warnings.map(({ message }) => message).join("\n")
}

test("the warning about a server that does not start has the last line that it wrote to its standard error", async () => {
  const warning = await warningsOf("echo first >&2; echo 'the license has expired' >&2; exit 3")
  expect(warning).toContain("the license has expired")
  expect(warning).not.toContain("first")
})

test("a credential in that line is masked", async () => {
  const token = "k3J9xQ7vL2mR8tZ1"
  const warning = await warningsOf('echo "bad token $API_TOKEN" >&2; exit 3', { API_TOKEN: token })
  expect(warning).toContain("bad token")
  expect(warning).not.toContain(token)
})
