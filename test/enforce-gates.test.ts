import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import * as aiSdk from "../src/enforce/ai-sdk.ts"
import { claudeHooks } from "../src/enforce/claude-agent-sdk.ts"
import * as googleAdk from "../src/enforce/google-adk.ts"
import * as openaiAgents from "../src/enforce/openai-agents.ts"
import type { ToolPolicy } from "../src/policy/service/tool-use.ts"
import { brokenPolicy, textPolicy } from "./support/enforce-policy.ts"

/** Makes calls as the framework does, and runs those that may run. What the framework gets instead of a result is ignored. */
type Framework = (policy: ToolPolicy, run: (text: string) => void) => (id: string, text: string) => Promise<void>

/** The gates of each framework, by the entry point of the package. */
const frameworks: Readonly<Record<string, Readonly<Record<string, Framework>>>> = {
  "ai-sdk": {
    tool: (policy, run) => {
      const echo = { execute: async ({ text }: { readonly text: string }, _: object) => run(text) }
      const { echo: enforced } = aiSdk.enforceTools({ echo }, { policy, sessionId: "s" })
      return (toolCallId, text) => enforced.execute({ text }, { toolCallId, messages: [] })
    },
  },
  "openai-agents": {
    options: (policy, run) => {
      const options = { name: "echo", execute: async (input: unknown, ..._: unknown[]) => run(textIn(input)) }
      const { execute } = openaiAgents.enforceTool(options, { policy, sessionId: "s" })
      return (callId, text) => execute({ text }, { context: {} }, { toolCall: { callId } })
    },
    "ready tool": (policy, run) => {
      const ready = {
        ...{ type: "function", name: "echo" },
        invoke: async (_: unknown, input: string, __: unknown) => run(textIn(JSON.parse(input))),
      }
      const [tool = ready] = openaiAgents.enforceTools([ready], { policy, sessionId: "s" })
      return (callId, text) => tool.invoke({ context: {} }, JSON.stringify({ text }), { toolCall: { callId } })
    },
  },
  "google-adk": {
    options: (policy, run) => {
      const options = { name: "echo", execute: async (input: unknown, ..._: unknown[]) => run(textIn(input)) }
      const { execute } = googleAdk.enforceTool(options, { policy, sessionId: "s" })
      return (functionCallId, text) => execute({ text }, { functionCallId })
    },
    plugin: (policy, run) => {
      const plugin = new googleAdk.PolicyPlugin({ policy })
      return async (functionCallId, text) => {
        const toolArgs = { text }
        const toolContext = { functionCallId, sessionId: "s", agentName: "root" }
        const instead = await plugin.beforeToolCallback({ tool: { name: "echo" }, toolArgs, toolContext })
        if (instead === undefined) run(toolArgs.text)
      }
    },
  },
  "claude-agent-sdk": {
    hooks: (policy, run) => {
      const { hooks, canUseTool } = claudeHooks(policy)
      return async (id, text) => {
        const asked = { session_id: "s", cwd: "/", tool_name: "Echo", tool_use_id: id, tool_input: { text } }
        const answer = await hooks.PreToolUse?.[0]?.hooks[0]?.({ hook_event_name: "PreToolUse", ...asked })
        if (!JSON.stringify(answer ?? null).includes('"permissionDecision":"ask"')) return
        const permission = await canUseTool("Echo", { text }, { toolUseID: id })
        if (permission.behavior === "allow") run(text)
      }
    },
    "permission callback alone": (policy, run) => {
      const { canUseTool } = claudeHooks(policy)
      return async (toolUseID, text) => {
        const permission = await canUseTool("Echo", { text }, { toolUseID })
        if (permission.behavior === "allow") run(text)
      }
    },
  },
}

test("the table has a column for every framework of the package", () => {
  const { exports }: { readonly exports: object } = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8"),
  )
  const entries = Object.keys(exports).flatMap((name) => /^\.\/enforce\/(.+)$/.exec(name)?.[1] ?? [])
  expect(Object.keys(frameworks).toSorted()).toEqual(entries.toSorted())
})

const columns = Object.entries(frameworks).flatMap(([name, gates]) =>
  Object.entries(gates).map(([gate, framework]) => [name, gate, framework] as const),
)

/** A policy whose first stage does this. */
const deciding = (preTool: () => unknown): ToolPolicy => ({
  ...textPolicy(),
  preTool: preTool as ToolPolicy["preTool"], // Safe: the point is that a policy in plain JavaScript may do anything.
})
const broken: readonly (readonly [string, ToolPolicy])[] = [
  ["rejects", brokenPolicy],
  [
    "throws",
    deciding(() => {
      throw new Error("down")
    }),
  ],
  ["decides nothing", deciding(async () => undefined)],
  ["decides what is no decision", deciding(async () => ({ decision: "perhaps" }))],
]

describe.each(columns)("%s, %s: a call", (_, __, framework) => {
  test("a call that is allowed runs", async () => {
    const ran: string[] = []
    await framework(textPolicy(), (text) => ran.push(text))("c1", "one")
    expect(ran).toEqual(["one"])
  })

  test.each(broken)("a call does not run if its policy %s", async (_name, policy) => {
    const ran: string[] = []
    await framework(policy, (text) => ran.push(text))("c1", "one").catch(() => {})
    expect(ran).toEqual([])
  })

  test.each(["afterwards", "at once"])("a call under the id of another call is decided anew, %s", async (when) => {
    const ran: string[] = []
    const call = framework(textPolicy(), (text) => ran.push(text))
    const first = call("c1", "one")
    if (when === "afterwards") await first
    await call("c1", "forbidden").catch(() => {})
    await first.catch(() => {})
    expect(ran).toEqual(["one"])
  })
})

function textIn(input: unknown): string {
  return typeof input === "object" && input !== null && "text" in input ? String(input.text) : ""
}
