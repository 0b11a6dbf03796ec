import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { mcp } from "../../src/extensions/mcp/index.ts"
import { isMain } from "../../src/testing/backend-bench.ts"
import { openPlace } from "../support/backend-place.ts"
import { placedBackends } from "./benches.ts"

const program = fileURLToPath(new URL("../mcp-client/stdio-server.mjs", import.meta.url))
const driven = placedBackends.filter(({ name }) => ["claude-cli", "claude-sdk", "codex", "pi", "native"].includes(name))

test.each(driven.map((backend) => [backend.name, backend] as const))(
  "the model of %s uses an MCP server through the runtime, under its policy and its names",
  async (_, backend) => {
    let workspace = ""
    const place = await openPlace(
      {
        script(request) {
          if (!isMain(request)) return "A title"
          const named = (end: string) => {
            return request.tools.find(({ name }) => name.endsWith(end))?.name
          }
          const made = request.messages.flatMap(({ toolCalls }) => toolCalls).length
          const [echo, pay] = [named("scene__echo"), named("scene__pay")]
          if (echo === undefined || pay === undefined)
            return `The tools are missing: ${request.tools.map(({ name }) => name)}`
          if (made === 0) return { parts: [{ toolCall: { name: echo, args: { text: "over the bridge" } } }] }
          if (made === 1) return { parts: [{ toolCall: { name: pay, args: { usd: 5 } } }] }
          return "Both were tried."
        },
      },
      (facts) => {
        workspace = facts.workspace
        return backend.configure(facts)
      },
    )
    const ledger = join(workspace, "ledger.txt")
    const settings = join(workspace, "settings.json")
    writeFileSync(ledger, "")
    writeFileSync(settings, JSON.stringify({ ledger }))
    const scene = { command: process.execPath, args: [program, settings] }
    const runtime = place.runtime({
      tools: [],
      extensions: [mcp({ servers: { scene } })],
      policy: { mode: "auto", rules: [{ deny: { tool: "mcp:scene/pay" }, reason: "No payments." }] },
    })
    const result = await runtime.run({ task: "Use the server." })
    await runtime.close()
    expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done", text: "Both were tried." })
    expect(result.toolCalls.map(({ name, status }) => [name, status])).toEqual([
      ["mcp__scene__echo", "ok"],
      ["mcp__scene__pay", "denied"],
    ])
    expect(readFileSync(ledger, "utf8")).toBe('echo {"text":"over the bridge"}\n')
    expect(result.capabilitiesUsed.mcpServersUsed).toEqual(["scene"])
  },
)
