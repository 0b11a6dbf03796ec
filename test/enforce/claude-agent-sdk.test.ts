import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { createSdkMcpServer, type Options, query, tool } from "@anthropic-ai/claude-agent-sdk"
import { type ClaudeEnforcement, type ClaudeHook, claudeHooks } from "longhaul/enforce/claude-agent-sdk"
import type { PolicyEvent, ToolPolicy } from "longhaul/policy"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import {
  echo,
  enforceCases,
  type Framework,
  type ModelCall,
  recorded,
  rules,
  runScene,
  search,
  type Tools,
} from "./scene.ts"

/** An empty home and workspace, and no connection but to the simulator. */
function isolated(url: string): Options {
  const home = mkdtempSync(join(tmpdir(), "longhaul-claude-"))
  return {
    cwd: home,
    model: "claude-sonnet-4-5",
    settingSources: [],
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: home,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "key-of-the-test",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  }
}

/** Not in every supported Node. */
function withResolvers() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve: () => resolve() }
}

async function runQuery(options: Options): Promise<string> {
  let result = ""
  for await (const message of query({ prompt: "Go", options })) {
    if (message.type === "result") result = message.subtype
  }
  return result
}

function deskOf({ echo, search }: Tools) {
  const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] })
  return createSdkMcpServer({
    name: "desk",
    tools: [
      tool("echo", "Echo", { text: z.string() }, async (args) => text(echo(args))),
      tool("search", "Search", { query: z.string() }, async (args) => text(search(args))),
    ],
  })
}

const framework: Framework = {
  name: "@anthropic-ai/claude-agent-sdk",
  modelName: (name) => (name === "echo" || name === "search" ? `mcp__desk__${name}` : name),
  ofException: "failed: throw plainly",
  goesOnAfterBlockedFailure: false,
  run: ({ url, policy, tools }) =>
    runQuery({ ...isolated(url), mcpServers: { desk: deskOf(tools) }, ...claudeHooks(policy) }),
}

enforceCases(framework)

describe("@anthropic-ai/claude-agent-sdk", () => {
  /** The same run with other options. */
  const withOptions = (more: (enforcement: ClaudeEnforcement) => Options, policy = rules()): Framework => ({
    ...framework,
    run: ({ url, tools }) =>
      runQuery({ ...isolated(url), mcpServers: { desk: deskOf(tools) }, ...more(claudeHooks(policy)) }),
  })
  const bash = (command: string): ModelCall => ({ tool: "Bash", args: { command, description: "d" } })

  test("the trap: PostToolUse with decision block passes the original on; ours does not", async () => {
    const naive = async () => ({ decision: "block" as const, reason: "That is a secret." })
    const hooks = { PostToolUse: [{ hooks: [naive], onFailure: "block" as const }] }
    const options = (): Options => ({ hooks, allowedTools: ["mcp__desk__search"] })
    expect((await runScene(withOptions(options), rules(), [search])).sent).toContain("SECRET-7")
    expect((await runScene(framework, rules(), [search])).sent).not.toContain("SECRET-7")
  })

  test("the outputs of Bash and Read are withheld in their own forms", async () => {
    const make = "printf 'SECRET-%s\\n' 7 > file.txt"
    const shown = "cat file.txt"
    const { sent, seen, error } = await runScene(framework, rules(), (request) => {
      const home = /Primary working directory: (\S+)/.exec(JSON.stringify(request.body))?.[1] ?? ""
      const path = `${home.replace(/\\n.*$/, "")}/file.txt`
      return [bash(make), bash(shown), { tool: "Read", args: { file_path: path } }]
    })
    expect(error).toBeUndefined()
    expect(seen).toHaveLength(3)
    expect(seen[1]).toContain("That is a secret.")
    expect(seen[2]).toContain("That is a secret.")
    expect(sent).not.toContain("SECRET-7")
  })

  test("the output of a failed command ends the run if it is blocked: the model is not asked again", async () => {
    const { sent, seen } = await runScene(framework, rules(), [bash("printf 'SECRET-%s' 7; exit 3")])
    expect(sent).not.toContain("SECRET-7")
    expect(seen).toEqual([])
    const clean = await runScene(framework, rules(), [bash("echo fine; exit 3")])
    expect(clean.seen.join()).toContain("fine")
  })

  test("arguments that another hook changes do not run undecided, also for tools in allowedTools", async () => {
    const run = async (permissionDecision: "allow" | "ask") => {
      const decided = withResolvers()
      // The hook that ends last wins.
      const change = async () => {
        await decided.promise
        await setImmediate()
        const updatedInput = { text: "forbidden" }
        return { hookSpecificOutput: { hookEventName: "PreToolUse" as const, permissionDecision, updatedInput } }
      }
      const framework = withOptions(({ hooks, canUseTool }) => {
        const [ours] = hooks.PreToolUse?.[0]?.hooks ?? []
        const first = async (input: Parameters<ClaudeHook>[0]) => {
          const answer = await ours?.(input)
          decided.resolve()
          return answer ?? {}
        }
        const PreToolUse = [{ hooks: [first] }, { hooks: [change] }]
        return { hooks: { ...hooks, PreToolUse }, canUseTool, allowedTools: ["mcp__desk__echo"] }
      })
      return runScene(framework, rules(), [echo("hello")])
    }
    // Our `ask` is stricter, so our arguments run.
    expect((await run("allow")).ran).toEqual(['echo {"text":"hello"}'])
    // The arguments of the last `ask` reach canUseTool, which decides them again.
    const { ran, seen } = await run("ask")
    expect(ran).toEqual([])
    expect(seen.join()).toContain("That word is not allowed.")
  })

  test("calls of subagents are decided, with the type of the agent", async () => {
    const { policy, asked } = recorded(rules())
    const { ran, sent } = await runScene(framework, policy, (request) => {
      const isInner = JSON.stringify(request.messages[0]).includes("INNER TASK")
      if (isInner) return [echo("forbidden"), search]
      const args = { description: "d", prompt: "INNER TASK", subagent_type: "general-purpose" }
      return [{ tool: "Agent", args }]
    })
    const inner = asked.filter(({ agent }) => agent === "general-purpose")
    expect(inner.map(({ toolName }) => toolName)).toEqual(["mcp:desk/echo", "mcp:desk/search"])
    expect(ran).toEqual(['search {"query":"x"}'])
    expect(sent).toContain("That word is not allowed.")
    expect(sent).not.toContain("SECRET-7")
  })

  test("session, prompt, failed tool and stop are reported; Stop only if it is included", async () => {
    for (const includeStop of [true, false]) {
      const events: PolicyEvent[] = []
      const policy: ToolPolicy = {
        ...rules(),
        send: async (event) => {
          events.push(event)
        },
      }
      const run: Framework["run"] = ({ url, tools }) =>
        runQuery({ ...isolated(url), mcpServers: { desk: deskOf(tools) }, ...claudeHooks(policy, { includeStop }) })
      await runScene({ ...framework, run }, policy, [bash("echo fine; exit 3")])
      const names = ["SessionStart", "UserPromptSubmit", "PostToolUseFailure", ...(includeStop ? ["Stop"] : [])]
      expect(events.map(({ event }) => event)).toEqual(names)
      expect(new Set(events.map(({ sessionId }) => sessionId)).size).toBe(1)
      expect(events[1]?.prompt).toBe("Go")
      expect(events[2]).toMatchObject({ toolName: "Bash", error: "Exit code 3", output: "fine" })
    }
  })
})
