import { Agent, OpenAIProvider, Runner, type Tool, tool } from "@openai/agents"
import { enforceTool, enforceTools } from "longhaul/enforce/openai-agents"
import type { ToolPolicy } from "longhaul/policy"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { enforceCases, type Framework, rules, runScene, type Tools } from "./scene.ts"

async function runAgent(url: string, tools: Tool[]): Promise<void> {
  const modelProvider = new OpenAIProvider({ baseURL: `${url}/v1`, apiKey: "key", useResponses: true })
  const runner = new Runner({ modelProvider, model: "gpt-4.1", tracingDisabled: true })
  const result = await runner.run(new Agent({ name: "agent", tools }), "Go", { stream: true })
  await result.completed
}

const optionsOf = ({ echo, search }: Tools) =>
  [
    { name: "echo", description: "Echo", parameters: z.object({ text: z.string() }), execute: echo },
    { name: "search", description: "Search", parameters: z.object({ query: z.string() }), execute: search },
  ] as const

const withOptions: Framework = {
  name: "@openai/agents with enforceTool",
  ofException: "An error occurred while running the tool.",
  async run({ url, policy, tools }) {
    const enforce = { policy, sessionId: "s1" }
    const [echo, search] = optionsOf(tools)
    await runAgent(url, [tool(enforceTool(echo, enforce)), tool(enforceTool(search, enforce))])
  },
}
const withReadyTools: Framework = {
  ...withOptions,
  name: "@openai/agents with enforceTools",
  async run({ url, policy, tools }) {
    const [echo, search] = optionsOf(tools)
    // The tool's own message: only a scan of the output can keep it back.
    const errorFunction = (_context: unknown, error: unknown) => String(error)
    const ready = [tool({ ...echo, errorFunction }), tool({ ...search, errorFunction })]
    await runAgent(url, enforceTools(ready, { policy, sessionId: "s1" }))
  },
  ofException: "failed: throw plainly",
}

enforceCases(withOptions)
enforceCases(withReadyTools)

describe("@openai/agents", () => {
  const parameters = z.object({ text: z.string() })
  const enforce = (policy: ToolPolicy = rules()) => ({ policy, sessionId: "s1" })

  test("a tool without a name keeps the name of its function", () => {
    const made = tool(
      enforceTool(
        {
          description: "Echo",
          parameters,
          execute: async function lookUp() {
            return ""
          },
        },
        enforce(),
      ),
    )
    expect(made.name).toBe("lookUp")
  })

  test("context and details reach execute", async () => {
    const received: unknown[] = []
    const options = {
      name: "echo",
      description: "Echo",
      parameters,
      execute: async (...given: unknown[]) => {
        received.push(...given)
        return "ran"
      },
    }
    await runScene(
      { ...withOptions, run: ({ url }) => runAgent(url, [tool(enforceTool(options, enforce()))]) },
      rules(),
      [{ tool: "echo", args: { text: "hello" } }],
    )
    expect(received).toMatchObject([{ text: "hello" }, { context: {} }, { toolCall: { callId: "toolu_0_1" } }])
  })

  test("errorFunction null: the run rejects with the BlockedError", async () => {
    const options = {
      name: "echo",
      description: "Echo",
      parameters,
      errorFunction: null,
      execute: async () => "ran",
    }
    const { error } = await runScene(
      { ...withOptions, run: ({ url }) => runAgent(url, [tool(enforceTool(options, enforce()))]) },
      rules(),
      [{ tool: "echo", args: { text: "forbidden" } }],
    )
    expect(error).toMatchObject({ error: { name: "BlockedError", code: "policy_denied" } })
  })

  test("a tool with an output schema rejects instead of breaking its schema", async () => {
    const outputSchema = z.object({ found: z.string() })
    const made = tool({
      name: "echo",
      description: "Echo",
      parameters,
      outputSchema,
      execute: async () => ({ found: "SECRET-7" }),
    })
    const { sent, error } = await runScene(
      { ...withOptions, run: ({ url }) => runAgent(url, enforceTools([made], enforce())) },
      rules(),
      [{ tool: "echo", args: { text: "hello" } }],
    )
    expect(sent).not.toContain("SECRET-7")
    expect(String(error)).toContain("That is a secret.")
  })

  test("hosted tools are rejected, unless that is accepted", () => {
    const hosted = { type: "hosted_tool" as const, name: "web_search" }
    expect(() => enforceTools([hosted], enforce())).toThrow("The policy cannot stop calls of web_search")
    expect(enforceTools([hosted], { ...enforce(), unenforced: "allow" })).toEqual([hosted])
  })
})
