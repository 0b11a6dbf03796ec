import { expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"

const { longhaul, simulate } = commandLine()

test("run without a key, outside a terminal, exits with 2, prints a fix and runs nothing", async () => {
  const { code, stdout, stderr } = await longhaul(["run", "Read tide.txt"])
  expect(code).toBe(2)
  expect(stdout).toBe("")
  expect(stderr).toContain("There is no model")
  expect(stderr).toMatch(/fix: .*ANTHROPIC_API_KEY.*--model offline/s)
  expect(JSON.parse((await longhaul(["runs", "--json"])).stdout).runs ?? []).toEqual([])
  expect((await longhaul(["run", "--model", "offline", "Read tide.txt"])).code).toBe(0)
})

test("the start of an id names its run, also after an approval took the run", async () => {
  await simulate({
    script: ({ lastToolResults }) =>
      lastToolResults.length > 0
        ? "Done."
        : { parts: [{ toolCall: { name: "Write", args: { path: "a", content: "b" } } }] },
  })
  const model = ["--model", "anthropic:x"]
  expect((await longhaul(["run", ...model, "--ask", "Write", "--run-id", "nightly-report", "Go"])).code).not.toBe(2)
  const approved = await longhaul(["approve", "nightly", ...model])
  expect(approved.stderr).not.toContain("run ids start with")
  for (const command of ["show", "logs", "status"]) {
    const { stderr } = await longhaul([command, "nightly"])
    expect(stderr).not.toContain("run ids start with")
    expect(stderr).not.toContain("was not found")
  }
})
