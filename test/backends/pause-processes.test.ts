import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { callsThenTells } from "../../src/testing/backend-bench.ts"
import type { SimulatedRequest } from "../../src/testing/index.ts"
import { countIn } from "../support/shell-scene.ts"
import { placedBackends } from "./benches.ts"
import { openHunt } from "./processes/start.ts"

/** Every call that can pause: one of ours on each backend, and one of its own where it has one. */
const rows = placedBackends.flatMap(({ name, ours, own }) => [
  { name, kind: "the runtime's", tool: "send", call: ours("send", { to: "Ada" }) } as const,
  ...(own ? [{ name, kind: "its own", tool: own.tool, call: own.call("note.txt", "written") } as const] : []),
])

test.each(rows.map((row) => [row.name, row.kind, row] as const))(
  "a run of %s that paused for a call of %s tools and whose process was killed, runs it once after its approval in another process",
  async (backend, kind, { tool, call }) => {
    const tells = callsThenTells(call)
    const asksAgain = (request: SimulatedRequest) =>
      /call it again|again with exactly/i.test(JSON.stringify(request.messages.at(-1)))
    const hunt = await openHunt((request) => (asksAgain(request) ? { parts: [{ toolCall: call }] } : tells(request)))
    try {
      const first = hunt.start({ backend, runId: "paused", ask: tool, hangs: true })
      expect(await first.first).toMatchObject({ status: "paused", pause: { pendingToolCall: { name: tool } } })
      first.kill("SIGKILL")
      await first.exited
      const second = hunt.start({ backend, runId: "paused", ask: tool, approve: true })
      const result = await second.first
      await second.exited
      expect(result, JSON.stringify(result)).toMatchObject({ status: "done" })
      expect(result?.toolCalls.filter(({ status }) => status === "ok")).toHaveLength(1)
      if (kind === "its own") {
        expect(readFileSync(join(hunt.workspace, "note.txt"), "utf8").trim()).toBe("written")
      } else {
        expect(readFileSync(join(hunt.base, "effects"), "utf8").trim().split("\n")).toHaveLength(1)
        const last = hunt.simulator.requests.findLast(({ tools }) => tools.length > 0)
        expect(JSON.stringify(last?.messages).split("letter 1 to Ada")).toHaveLength(2)
      }
      const third = hunt.start({ backend, runId: "paused", ask: tool, approve: true })
      expect(await third.first).toMatchObject({ status: "failed", error: { code: "invalid_state" } })
      await third.exited
      expect(existsSync(join(hunt.base, "effects"))).toBe(kind === "the runtime's")
      expect(countIn(hunt.base)).toBe(0)
    } finally {
      await hunt.close()
    }
  },
)
