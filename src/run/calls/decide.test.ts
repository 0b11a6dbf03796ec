import { expect, test } from "vitest"
import { native } from "../../backends/native/index.ts"
import type { GateVerdict } from "../../contract/hooks.ts"
import type { Json } from "../../contract/json.ts"
import { createRuntime } from "../../index.ts"
import { resolveConfig } from "../../settings/config/config.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"
import { askUserTool } from "../../tools/index.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"
import { callDigest } from "./decide.ts"

test("a decision is valid for one tool, its arguments, the folder, and the way in which they are known", () => {
  const config = resolveConfig({}, { store: memoryStore, backend: native, again: createRuntime })
  const digests = ["Bash", "Edit"].flatMap((name) =>
    [{ to: "Ada" }, { to: "Eve" }].flatMap((args) =>
      ["/a", "/b"].flatMap((cwd) =>
        [true, undefined].map((inexact) => callDigest(config, { name, args, ...(inexact && { inexact }) }, cwd)),
      ),
    ),
  )
  expect(new Set(digests).size).toBe(16)
})

const ask = { parts: [{ toolCall: { name: "AskUser", args: { question: "Which?" } } }] }
const send = { parts: [{ toolCall: { name: "send", args: { to: "Eve" } } }] }

const verdicts: Readonly<Record<string, GateVerdict | undefined>> = {
  "a gate that would ask a person": { allow: false, reason: "why?" },
  "a gate that allows everything": { allow: true },
  "a question of the tool itself": undefined,
}

test.each(Object.entries(verdicts))(
  "a call that the policy denies stays denied, and nobody is asked, despite %s",
  async (_, verdict) => {
    const seen: Json[] = []
    const gateBeforeTool = (name: string) => {
      seen.push(name)
      return verdict ?? { allow: true }
    }
    const runtime = createRuntime({
      model: scriptedModel([verdict ? send : ask, "Done."]),
      tools: [sendTool(seen), askUserTool()],
      policy: { rules: [{ deny: { tool: "*" } }] },
      ...(verdict && { hooks: { gateBeforeTool } }),
    })
    const result = await runtime.run({ task: "x" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
    expect(seen).toEqual([])
  },
)

test("a call that cannot run is answered, although every call would be asked about", async () => {
  const ran: Json[] = []
  const calls = [
    { name: "nothing", args: {} },
    { name: "send", args: { to: "Eve", all: Array.from({ length: 60_000 }, () => 1) } },
  ]
  const runtime = createRuntime({
    model: scriptedModel([{ parts: calls.map((toolCall) => ({ toolCall })) }, "Done."]),
    tools: [sendTool(ran)],
    policy: { rules: [{ ask: { tool: "*" } }], ask: "pause" },
  })
  const result = await runtime.run({ task: "x" })
  expect(result.toolCalls.map(({ status }) => status)).toEqual(["error", "error"])
  expect(result.status).toBe("done")
  expect(result.toolCalls[0]?.result).toContain("not an available tool")
  expect(ran).toEqual([])
})

function sendTool(ran: Json[]) {
  const input = { type: "object", properties: { to: { type: "string" } }, required: ["to"] } as const
  const run = (args: Json) => `sent ${ran.push(args)}`
  return defineTool({ name: "send", description: "Sends.", inputSchema: input, run })
}
