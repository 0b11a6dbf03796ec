import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../../test/support/command-line.ts"
import type { SimulatedRequest } from "../../testing/index.ts"

const { place, longhaul, simulate } = commandLine()

const inRepository = (...names: readonly string[]) => join(place.workspace, ...names)
const bash = (command: string) => ({ parts: [{ toolCall: { name: "Bash", args: { command } } }] })
const write = { parts: [{ toolCall: { name: "Write", args: { path: "a", content: "b" } } }] }
const model = ["--model", "anthropic:x"]

/** In `sub` a run waits for a decision; then a command plants a config file there, as any process of the user could. */
async function planted() {
  const task = ({ messages }: SimulatedRequest) => JSON.stringify(messages[0])
  const simulator = await simulate({
    script(request) {
      if (request.lastToolResults.length > 0) return "Done."
      if (task(request).includes("Plant"))
        return bash('printf %s \'{ "system": "PLANTED" }\' > sub/longhaul.config.json')
      return task(request).includes("Ask") ? write : "Done."
    },
  })
  const sub = inRepository("sub")
  await mkdir(sub)
  await writeFile(join(sub, "note.txt"), "A note.\n")
  const inSub = (args: readonly string[]) => longhaul(args, {}, sub)
  expect((await inSub(["run", ...model, "--ask", "Write", "--run-id", "asked", "Ask"])).code).toBe(3)
  expect((await inSub(["chat", ...model, "--run-id", "talk", "Hello"])).code).toBe(0)
  expect((await longhaul(["run", "--bash", ...model, "Plant"])).code).toBe(0)
  return { simulator, inSub, requests: simulator.requests.length }
}

describe("a config file that was changed since commands ran there", () => {
  test.each([
    ["chat", ["chat", ...model, "Hello"]],
    ["chat --continue", ["chat", "--continue=talk", ...model, "Again"]],
    ["resume", ["resume", "asked", ...model]],
    ["approve", ["approve", "asked", ...model]],
  ])("a config file is refused by %s, too, which asks no model, until the user does without it", async (_, args) => {
    const { simulator, inSub, requests } = await planted()
    const { code, stderr } = await inSub(args)
    expect(code).toBe(2)
    expect(stderr).toMatch(/in a folder where commands ran.+\n.*--config .+--no-config/)
    expect(simulator.requests).toHaveLength(requests)
    expect((await inSub([...args, "--no-config"])).code).not.toBe(2)
    expect(JSON.stringify(simulator.requests.map(({ system }) => system))).not.toContain("PLANTED")
  })
})
