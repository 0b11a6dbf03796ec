import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { RunInput } from "../../src/contract/run.ts"
import { isMain, withRuntime } from "../../src/testing/backend-bench.ts"
import { bashTool, fileTools } from "../../src/tools/index.ts"
import { openPlace } from "../support/backend-place.ts"
import { allBackends } from "./benches.ts"

const vendors = allBackends.filter(({ own }) => own !== undefined)
const changing = ["Bash", "Write", "Edit", "ApplyPatch", "NotebookEdit", "Delete", "Move"]

/** How a run can be kept from changing anything. */
const restrictions: readonly (readonly [string, Pick<RunInput, "allowedTools" | "disabledTools">])[] = [
  ["allowedTools without", { allowedTools: ["Read", "Grep", "Glob", "List"] }],
  ["disabledTools with", { disabledTools: changing }],
]

describe.each(vendors.map((placed) => [placed.name, placed] as const))("%s", (_, placed) => {
  test.each(restrictions)("%s a tool of the vendor: it is not offered, and its calls do not run", async (_, input) => {
    const calls = [
      placed.own?.call("note.txt", "written") ?? expect.fail("no tool"),
      placed.speaks.command("touch ran.txt"),
    ]
    const offered: string[] = []
    let workspace = ""
    const place = await openPlace(
      {
        script(request) {
          if (!isMain(request)) return "A title"
          offered.push(...request.tools.map(({ name }) => name))
          const made = request.messages.flatMap(({ toolCalls }) => toolCalls).length
          const toolCall = calls[made]
          return toolCall === undefined ? "Done." : { parts: [{ toolCall }] }
        },
      },
      (facts) => {
        workspace = facts.workspace
        return placed.configure(facts)
      },
    )
    try {
      const result = await withRuntime(
        place,
        { policy: { mode: "auto" }, tools: [...fileTools(), bashTool()] },
        (runtime) => runtime.run({ task: "Go.", ...input }),
      )
      expect(["note.txt", "ran.txt"].filter((name) => existsSync(join(workspace, name)))).toEqual([])
      expect(result.toolCalls.filter(({ status }) => status === "ok")).toEqual([])
      expect(result.status).toBe("done")
      expect(offered).not.toContain(placed.speaks.command("").name)
    } finally {
      await place.close()
    }
  })
})
