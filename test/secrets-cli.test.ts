import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { known, leaksIn, tokens } from "./secrets/sentinels.ts"
import { commandLine } from "./support/command-line.ts"

const { place, longhaul, simulate } = commandLine()
const key = known("the provider's key", "provider-key-a81b72c63d")
const bearer = known("a bearer token", "bearer-token-5e4f3a2b1c")
const other = known("another variable", "another-variable-99")
const sentinels = [key, bearer, other, ...tokens]

test.each([
  ["as text", []],
  ["as JSON", ["--json"]],
  ["with its log", ["--debug"]],
])("the command line prints no secret of a run %s, and shows none later", async (_, options) => {
  const text = sentinels.flatMap(({ sent }) => sent).join("\n")
  await writeFile(join(place.workspace, ".env"), text)
  await simulate({
    script: ({ lastToolResults }) =>
      lastToolResults.length === 0
        ? { parts: [{ text }, { toolCall: { name: "Read", args: { path: ".env" } } }], deltaSize: 5 }
        : `It says ${text}`,
  })
  const variables = { ANTHROPIC_API_KEY: key.value, ANTHROPIC_AUTH_TOKEN: bearer.value, OTHER_SECRET: other.value }
  const run = await longhaul(["run", `Look for ${text}`, ...options], variables)
  expect(run.code).toBe(0)
  const listed = await longhaul(["runs", "--json"])
  const [{ runId }] = JSON.parse(listed.stdout) as [{ runId: string }]
  const outputs = [run, listed, await longhaul(["show", runId]), await longhaul(["logs", runId, "--json"])]
  const shown = outputs.map(({ stdout, stderr }) => stdout + stderr).join("\n")
  expect(shown).toContain("{{secret:")
  for (const sentinel of sentinels) expect([sentinel.kind, leaksIn(shown, sentinel)]).toEqual([sentinel.kind, []])
})

test("a key that the server quotes in its refusal is not printed", async () => {
  await simulate({ script: () => "never", apiKey: "another" })
  const { code, stdout, stderr } = await longhaul(["run", "Hello"], { ANTHROPIC_API_KEY: key.value })
  expect(code).toBe(1)
  expect(leaksIn(stdout + stderr, key)).toEqual([])
})
