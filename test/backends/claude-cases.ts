import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { serveLoopback } from "../../src/hosts/node/backends/loopback.ts"
import type { RunResult, RuntimeConfig, ToolOutcome } from "../../src/hosts/node/index.ts"
import { withRuntime } from "../../src/testing/backend-bench.ts"
import type { SimulatedAnswer, SimulatedRequest, SimulatedToolCall } from "../../src/testing/index.ts"
import { until } from "../support/watchdog.ts"
import type { ClaudeBench, ClaudePlace } from "./claude-bench.ts"

type Script = (request: SimulatedRequest) => SimulatedAnswer | Promise<SimulatedAnswer>

const bash = (command: string, id?: string): SimulatedToolCall => ({
  name: "Bash",
  args: { command },
  ...(id && { id }),
})

const allow: Partial<RuntimeConfig> = { policy: { rules: [{ allow: { tool: "*" } }] }, tools: [] }
const asks = (tool: string): Partial<RuntimeConfig> => ({
  policy: { rules: [{ ask: { tool }, via: "pause" }, { allow: { tool: "*" } }] },
  tools: [],
})

/** Makes each list of calls in turn, then tells all that the tools said. */
function steps(...lists: readonly (readonly SimulatedToolCall[])[]): Script {
  return ({ messages }) => {
    const answered = messages.filter(({ role }) => role === "assistant").length
    const calls = lists[answered]
    if (calls) return { parts: calls.map((toolCall) => ({ toolCall })) }
    return `TurnMessage: ${messages.flatMap(({ toolResults }) => toolResults.map(({ text }) => text.split("\n")[0])).join(" | ")}`
  }
}

const approve = ({ runId, pause }: RunResult) => ({
  runId,
  decision: "approve" as const,
  ticket: pause?.pendingToolCall?.ticket ?? "",
})

/** What both Claude backends must do beyond the cases of all backends. */
export function describeClaude(bench: ClaudeBench): void {
  async function inPlace(script: Script, work: (place: ClaudePlace) => Promise<void>, command?: string): Promise<void> {
    const place = await bench.open({ script, ...(command !== undefined && { command }) })
    try {
      await work(place)
      expect(await place.leftovers()).toBe(0)
    } finally {
      await place.close()
    }
  }

  const run = (place: ClaudePlace, config: Partial<RuntimeConfig>) =>
    withRuntime(place, config, (runtime) => runtime.run({ task: "Do it." }))

  describe("gate", () => {
    test("settings of the project and of the user allow nothing, and their hooks do not run", () =>
      inPlace(steps([bash("touch done")]), async (place) => {
        const hook = { matcher: "*", hooks: [{ type: "command", command: `touch ${place.workspace}/hooked` }] }
        const settings = { permissions: { allow: ["Bash", "Bash(*)"] }, hooks: { PreToolUse: [hook], Stop: [hook] } }
        for (const folder of [join(place.workspace, ".claude"), join(place.home, "claude")]) {
          mkdirSync(folder, { recursive: true })
          writeFileSync(join(folder, "settings.json"), JSON.stringify(settings))
          writeFileSync(join(folder, "settings.local.json"), JSON.stringify(settings))
        }
        const server = { command: "touch", args: [join(place.workspace, "served")] }
        writeFileSync(join(place.workspace, ".mcp.json"), JSON.stringify({ mcpServers: { planted: server } }))
        const result = await run(place, { policy: { rules: [{ deny: { tool: "Bash" } }] }, tools: [] })
        expect(result).toMatchObject({ status: "done", toolCalls: [{ name: "Bash", status: "denied" }] })
        expect(readdirSync(place.workspace).sort()).toEqual([".claude", ".mcp.json"])
      }))

    test("a search of Claude's own tools shows no path that is denied to Read", () => {
      const searches = [
        { name: "Grep", args: { pattern: "TIDE", output_mode: "content" } },
        { name: "Glob", args: { pattern: "**/*" } },
        { name: "Grep", args: { pattern: "TIDE", path: "src", output_mode: "content" } },
      ]
      return inPlace(steps(...searches.map((call) => [call])), async (place) => {
        for (const folder of ["src", "secrets"]) {
          mkdirSync(join(place.workspace, folder))
          writeFileSync(join(place.workspace, folder, "note.txt"), `TIDE of ${folder}`)
        }
        const rules = [{ deny: { tool: "Read", path: "secrets/**" } }, { allow: { tool: "*" } }]
        const { toolCalls } = await run(place, { policy: { rules }, tools: [] })
        expect(toolCalls.map(({ status }) => status)).toEqual(["denied", "denied", "ok"])
        expect(JSON.stringify(toolCalls)).toContain("TIDE of src")
        expect(JSON.stringify(place.simulator.requests)).not.toContain("TIDE of secrets")
      })
    })

    test("a reading command that is denied after a pause never runs, though Claude would run it without asking", () =>
      inPlace(steps([bash("cat secret.txt")]), async (place) => {
        writeFileSync(join(place.workspace, "secret.txt"), "TIDE-TABLE")
        for (let round = 0; round < 3; round++) {
          const paused = await run(place, asks("Bash"))
          expect(paused.status).toBe("paused")
          const denied = { ...approve(paused), decision: "deny" as const }
          const result = await withRuntime(place, asks("Bash"), (runtime) => runtime.resume(denied))
          expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
        }
        expect(JSON.stringify(place.simulator.requests)).not.toContain("TIDE-TABLE")
      }))

    test("the policy decides about a call of a subagent", () =>
      inPlace(subagent(bash("touch done", "toolu_inner")), async (place) => {
        const rules = [{ deny: { tool: "Bash" }, reason: "no shell" }, { allow: { tool: "*" } }]
        const result = await run(place, { policy: { rules }, tools: [] })
        expect(result.status).toBe("done")
        expect(result.toolCalls.map(({ name, status }) => [name, status])).toEqual([
          ["Task", "ok"],
          ["Bash", "denied"],
        ])
        expect(await place.read("done")).toBeNull()
      }))

    test("a command cannot call the runtime's tools by itself, even with the token of the bridge", () =>
      inPlace(steps([bash("./steal.sh")]), async (place) => {
        const file = join(place.workspace, "steal.sh")
        writeFileSync(
          file,
          stealing({ name: "send", arguments: { to: "Eve" }, _meta: { "claudecode/toolUseId": "x" } }),
        )
        chmodSync(file, 0o755)
        const { tool, done } = letters()
        const result = await run(place, { ...allow, tools: [tool] })
        expect(result.text).toContain("not a call that was allowed")
        expect(done).toEqual([])
      }))

    test("no secret is on the command line or in the records", async () => {
      let line = ""
      const script: Script = () => {
        line = commandLines().find((each) => each.includes("--strict-mcp-config")) ?? ""
        return "Done."
      }
      await inPlace(script, async (place) => {
        const mcpServers = {
          notes: { url: "http://127.0.0.1:9/mcp", headers: { authorization: "Bearer hush-hush-hush" } },
        }
        await withRuntime(place, { ...allow, tools: [letters().tool], mcpServers }, async (runtime) => {
          const { runId, status } = await runtime.run({ task: "Do it." })
          expect(status).toBe("done")
          const records: unknown[] = []
          for await (const record of runtime.events(runId)) records.push(record)
          expect(JSON.stringify(records)).not.toMatch(/hush-hush|Bearer/)
        })
      })
      expect(line).toContain("notes")
      expect(line).not.toMatch(/hush-hush|Bearer/)
    })
  })

  describe("pause", () => {
    test("of two calls in a step that both need approval one is put off and replayed, and the model makes the other again", () =>
      inPlace(steps([bash("echo a >> out"), bash("echo b >> out")], [bash("echo b >> out")]), async (place) => {
        const paused = await run(place, asks("Bash"))
        expect(paused.pause?.pendingToolCall?.args).toEqual({ command: "echo a >> out" })
        const second = await withRuntime(place, asks("Bash"), (runtime) => runtime.resume(approve(paused)))
        expect(second).toMatchObject({ status: "paused" })
        expect(await place.read("out")).toBe("a\n")
        const result = await withRuntime(place, asks("Bash"), (runtime) => runtime.resume(approve(second)))
        expect(result.status).toBe("done")
        expect(await place.read("out")).toBe("a\nb\n")
      }))

    test("a call that is approved with other arguments runs with those", () =>
      inPlace(steps([bash("echo a >> out")]), async (place) => {
        const paused = await run(place, asks("Bash"))
        const changed = { ...approve(paused), args: { command: "echo changed >> out" } }
        const result = await withRuntime(place, asks("Bash"), (runtime) => runtime.resume(changed))
        expect(result.status).toBe("done")
        expect(await place.read("out")).toBe("changed\n")
      }))

    test("a call of a subagent that needs approval is made again after it, and runs once", () => {
      const inner = bash("echo a >> out", "toolu_inner")
      return inPlace(subagent(inner, 2), async (place) => {
        const paused = await run(place, asks("Bash"))
        expect(paused.pause?.pendingToolCall?.args).toEqual(inner.args)
        const result = await withRuntime(place, asks("Bash"), (runtime) => runtime.resume(approve(paused)))
        expect(result).toMatchObject({ status: "done" })
        expect(await place.read("out")).toBe("a\n")
      })
    })

    test("a session that Claude has lost is replaced by one with the run's history", () =>
      inPlace(steps([bash("echo a >> out")]), async (place) => {
        const paused = await run(place, asks("Bash"))
        rmSync(join(place.home, "claude", "projects"), { recursive: true })
        const result = await withRuntime(place, asks("Bash"), (runtime) => runtime.resume(approve(paused)))
        expect(result.warnings.map(({ code }) => code)).toContain("session_lost")
        expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }, { status: "ok" }] })
        expect(await place.read("out")).toBe("a\n")
      }))

    test("an approved call whose program is killed while it runs is in doubt, and is not run again", () => {
      const once = steps([bash("echo a >> out; kill -9 $PPID; sleep 5")])
      const script: Script = (request) =>
        /may or may not/.test(JSON.stringify(request.messages)) ? "I have to check." : once(request)
      return inPlace(script, async (place) => {
        const paused = await run(place, asks("Bash"))
        const failed = await withRuntime(place, asks("Bash"), (runtime) => runtime.resume(approve(paused)))
        expect(failed).toMatchObject({ status: "failed", error: { code: "backend_crashed" } })
        const result = await withRuntime(place, asks("Bash"), (runtime) => runtime.resume({ runId: paused.runId }))
        expect(result).toMatchObject({ text: "I have to check.", toolCalls: [{ name: "Bash", status: "unknown" }] })
        expect(await place.read("out")).toBe("a\n")
      })
    })

    test("a message to a resumed run reaches the model after the result of its pending call, once", () =>
      inPlace(steps([bash("echo a")]), async (place) => {
        const paused = await run(place, asks("Bash"))
        const result = await withRuntime(place, asks("Bash"), (runtime) => {
          const handle = runtime.resumeStream(approve(paused))
          handle.steer("Mind the tide.")
          return handle.result
        })
        expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok", result: "a" }] })
        const last = JSON.stringify(place.simulator.requests.findLast(({ tools }) => tools.length > 0)?.messages)
        expect(last.split("Mind the tide.")).toHaveLength(2)
        expect(last.split('"toolResults":[{"id":"toolu_sim_0"')).toHaveLength(2)
      }))

    test("usage and cost of a resumed session are counted once", () =>
      inPlace(steps([bash("echo a")]), async (place) => {
        const paused = await run(place, asks("Bash"))
        const result = await withRuntime(place, asks("Bash"), (runtime) => runtime.resume(approve(paused)))
        expect(result.status).toBe("done")
        const sent = place.simulator.requests.filter(({ tools }) => tools.length > 0).length
        expect(sent).toBe(2)
        const [first, all] = [paused.usage.inputTokens ?? 0, result.usage.inputTokens ?? 0]
        expect(first).toBeGreaterThan(0)
        // Both requests have nearly the same size; counted twice, the first would make it three.
        expect(Math.round(all / first)).toBe(2)
        expect(Math.round((result.usage.costUsd ?? 0) / (paused.usage.costUsd ?? 0))).toBe(2)
      }))
  })

  describe("work", () => {
    test("a tool of the user's MCP server has its name in policies, and can be denied", async () => {
      const calls: string[] = []
      const tools = [letters().tool]
      const callTool = async ({ name }: { readonly name: string }): Promise<ToolOutcome> => {
        calls.push(name)
        return { status: "ok", output: [{ type: "text", text: "posted" }] }
      }
      const toolCall = { name: "mcp__post__send", args: { to: "Ada" } }
      await inPlace(steps([toolCall]), async (place) => {
        const server = await serveLoopback({ tools, callTool }, { folder: join(place.home, "gates"), version: "1" })
        const mcpServers = { post: server.mcp }
        try {
          const rules = [{ deny: { tool: "mcp:post/send" } }, { allow: { tool: "*" } }]
          const denied = await run(place, { policy: { rules }, tools: [], mcpServers })
          expect(denied.toolCalls).toMatchObject([{ name: "mcp:post/send", status: "denied" }])
          expect(calls).toEqual([])
          const result = await run(place, { ...allow, mcpServers })
          expect(result).toMatchObject({ status: "done", text: "TurnMessage: posted", toolCalls: [{ status: "ok" }] })
          expect(calls).toEqual(["send"])
        } finally {
          await server.close()
        }
      })
    })

    test("two calls of Claude's own tools in one step both run, and one that fails is an error", () =>
      inPlace(steps([bash("echo one"), bash("exit 3")]), async (place) => {
        const result = await run(place, allow)
        expect(result.text).toContain("TurnMessage: one | Exit code 3")
        expect(result.toolCalls.map(({ status }) => status)).toEqual(["ok", "error"])
      }))

    test("a text that looks like a command of Claude Code is a message for the model", () =>
      inPlace(
        () => "Heard.",
        async (place) => {
          const result = await withRuntime(place, allow, (runtime) => runtime.run({ task: "/clear the deck" }))
          expect(result.text).toBe("Heard.")
          expect(place.simulator.requests.at(-1)?.lastUserText).toContain("/clear the deck")
        },
      ))

    test("system prompt and effort reach the model", () =>
      inPlace(
        () => "Heard.",
        async (place) => {
          await withRuntime(place, allow, (runtime) => runtime.run({ task: "Go.", system: "Speak like a sailor." }))
          expect(place.simulator.requests.at(-1)?.system).toContain("Speak like a sailor.")
        },
      ))

    test("text and reasoning are shown while they arrive", () =>
      inPlace(
        () => ({
          parts: [{ reasoning: "Let me see.", signature: "s" }, { text: "High water is at four." }],
          deltaSize: 5,
        }),
        async (place) => {
          await withRuntime(place, allow, async (runtime) => {
            const shown = { "text-delta": "", "reasoning-delta": "" }
            for await (const event of runtime.stream({ task: "Go." })) {
              if (event.type === "text-delta" || event.type === "reasoning-delta") shown[event.type] += event.delta
            }
            expect(shown).toEqual({ "text-delta": "High water is at four.", "reasoning-delta": "Let me see." })
          })
        },
      ))

    test("a limit of turns stops the work", () =>
      inPlace(steps([bash("echo 1")], [bash("echo 2")], [bash("echo 3")]), async (place) => {
        const result = await withRuntime(place, allow, (runtime) => runtime.run({ task: "Go.", limits: { turns: 2 } }))
        expect(result).toMatchObject({ status: "failed", error: { code: "max_turns" }, turns: 2 })
      }))

    test("a limit of tokens stops the work after the answer that exceeds it", () =>
      inPlace(steps([bash("echo 1")], [bash("echo 2 >> out")], [bash("echo 3 >> out")]), async (place) => {
        const result = await withRuntime(place, allow, (runtime) =>
          runtime.run({ task: "Go.", limits: { tokens: 1000 } }),
        )
        expect(result).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
        expect(await place.read("out")).toBeNull()
      }))

    test("an immediate interrupt ends a command of Claude with its children, in doubt", () =>
      inPlace(steps([bash("touch begun; sleep 1234; touch ended")]), async (place) => {
        await withRuntime(place, allow, async (runtime) => {
          const handle = runtime.stream({ task: "Go." })
          await until(() => existsSync(join(place.workspace, "begun")))
          handle.interrupt("immediate")
          const result = await handle.result
          expect(result).toMatchObject({ status: "cancelled", toolCalls: [{ name: "Bash", status: "unknown" }] })
        })
      }))

    test("a graceful interrupt lets a running command finish and starts nothing more", () =>
      inPlace(
        steps([bash("touch begun; while [ ! -e go ]; do sleep 0.1; done; touch ended")], [bash("touch more")]),
        async (place) => {
          await withRuntime(place, allow, async (runtime) => {
            const handle = runtime.stream({ task: "Go." })
            await until(() => existsSync(join(place.workspace, "begun")))
            handle.interrupt("graceful")
            writeFileSync(join(place.workspace, "go"), "")
            const result = await handle.result
            expect(result).toMatchObject({ status: "cancelled", toolCalls: [{ name: "Bash", status: "ok" }] })
            expect(await place.read("ended")).toBe("")
            expect(await place.read("more")).toBeNull()
          })
        },
      ))
  })

  describe("broken programs", () => {
    async function withProgram(script: string, work: (result: RunResult) => void, openMs = 60_000): Promise<void> {
      const folder = join(process.env.HOME ?? "/tmp", `.longhaul-test-program-${crypto.randomUUID()}`)
      mkdirSync(folder)
      const command = join(folder, "claude")
      writeFileSync(command, `#!/bin/sh\n${script}\n`)
      chmodSync(command, 0o755)
      try {
        await inPlace(
          () => "never",
          async (place) => work(await run(place, { ...allow, deadlines: { openMs } })),
          command,
        )
      } finally {
        rmSync(folder, { recursive: true })
      }
    }

    const code =
      (expected: string, message = "") =>
      (result: RunResult) =>
        expect(result).toMatchObject({
          status: "failed",
          error: { code: expected, message: expect.stringContaining(message) },
        })

    test("a missing program is backend_missing, with the command that installs it", () =>
      inPlace(
        () => "never",
        async (place) => {
          const result = await run(place, allow)
          expect(result).toMatchObject({
            status: "failed",
            error: { code: "backend_missing", fix: expect.stringContaining("npm install") },
          })
        },
        "/nonexistent/claude",
      ))

    test("a program that ends at once is backend_crashed", () => withProgram("exit 7", code("backend_crashed")))

    test("a program that writes no messages is backend_protocol", () =>
      withProgram("echo Hello there; sleep 60", code("backend_protocol", "Hello there")))

    test("a program that floods its output without a line is backend_protocol", () =>
      withProgram("head -c 70000000 /dev/zero | tr '\\0' x; sleep 60", code("backend_protocol", "a line of more than")))

    test("a program that never answers is backend_protocol", () =>
      withProgram("cat > /dev/null", code("backend_protocol"), 500))
  })

  test("a program that is killed in the middle of its work is backend_crashed, and the effect of its call is recorded", () =>
    inPlace(steps([bash("touch done"), bash("kill -9 $PPID")]), async (place) => {
      const result = await run(place, allow)
      expect(result).toMatchObject({ status: "failed", error: { code: "backend_crashed" } })
      expect(result.toolCalls.map(({ status }) => status)).toEqual(["ok", "unknown"])
    }))
}

/** A script that calls a tool of the bridge with the address and the token from its environment. */
function stealing(params: object): string {
  const post = (message: object) =>
    `curl -s -X POST "$LONGHAUL_MCP_0" -H "authorization: $LONGHAUL_MCP_1" -H 'content-type: application/json' ` +
    `-H 'accept: application/json, text/event-stream' -H "mcp-session-id: $session" -d '${JSON.stringify({ jsonrpc: "2.0", ...message })}'`
  const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "eve", version: "1" } }
  return [
    "#!/bin/sh",
    `session=$(${post({ id: 1, method: "initialize", params: hello }).replace(/-H "mcp-session-id: \$session"/, "-D - -o /dev/null")} | tr -d '\\r' | sed -n 's/^mcp-session-id: //Ip')`,
    post({ method: "notifications/initialized" }),
    `${post({ id: 2, method: "tools/call", params })} | tr -d '\\n'`,
  ].join("\n")
}

/** Starts a subagent, which makes the call; after it was refused, `rounds` times. */
function subagent(inner: SimulatedToolCall, rounds = 1): Script {
  let begun = 0
  return ({ lastUserText, lastToolResults, messages }) => {
    if (lastUserText.includes("INNER WORK")) {
      return lastToolResults.length > 0
        ? "Inner done."
        : { parts: [{ toolCall: { ...inner, id: `${inner.id}_${begun}` } }] }
    }
    const isOver = messages.some(({ toolResults }) => toolResults.some(({ text }) => text.includes("Inner done.")))
    if (isOver || begun === rounds) return "Outer done."
    const args = { description: "d", prompt: "INNER WORK", subagent_type: "general-purpose" }
    return { parts: [{ toolCall: { name: "Agent", args, id: `toolu_outer_${++begun}` } }] }
  }
}

function letters() {
  const done: unknown[] = []
  return {
    done,
    tool: {
      name: "send",
      description: "Sends a letter.",
      inputSchema: { type: "object", properties: { to: { type: "string" } } },
      effect: "once",
      concurrent: false,
      risk: "low",
      run(args: unknown) {
        done.push(args)
        return "sent"
      },
    } as const,
  }
}

function commandLines(): readonly string[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ")] : []
    } catch {
      return []
    }
  })
}
