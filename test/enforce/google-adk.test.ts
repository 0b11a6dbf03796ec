import {
  AgentTool,
  BaseLlm,
  BasePlugin,
  type BaseTool,
  FunctionTool,
  Gemini,
  GOOGLE_SEARCH,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LogLevel,
  StreamingMode,
  setLogLevel,
} from "@google/adk"
import { enforceTool, PolicyPlugin } from "longhaul/enforce/google-adk"
import type { ToolPolicy } from "longhaul/policy"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { echo, enforceCases, type Framework, recorded, rules, runScene, search, type Tools } from "./scene.ts"

setLogLevel(LogLevel.ERROR)

/** The package has no option for the address. */
function model(url: string): Gemini {
  process.env.GOOGLE_GEMINI_BASE_URL = url
  return new Gemini({ model: "gemini-2.5-flash", apiKey: "key" })
}

/** Calls `search` once. An agent as a tool does not stream, and the simulator does only that. */
class OneCall extends BaseLlm {
  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const isDone = contents.some(({ parts = [] }) => parts.some(({ functionResponse }) => functionResponse))
    const call = { functionCall: { name: "search", args: { query: "x" } } }
    yield { content: { role: "model", parts: [isDone ? { text: "Done" } : call] } }
  }
  override async connect(): Promise<never> {
    throw new Error("not used")
  }
}

async function runAgent(url: string, tools: BaseTool[], plugins: BasePlugin[] = []): Promise<string> {
  const runner = new InMemoryRunner({ agent: new LlmAgent({ name: "agent", model: model(url), tools }), plugins })
  const session = await runner.sessionService.createSession({ appName: runner.appName, userId: "u" })
  let errors = ""
  for await (const event of runner.runAsync({
    userId: "u",
    sessionId: session.id,
    newMessage: { role: "user", parts: [{ text: "Go" }] },
    runConfig: { streamingMode: StreamingMode.SSE },
  })) {
    errors += event.errorMessage ?? ""
  }
  return errors
}

const optionsOf = ({ echo, search }: Tools) =>
  [
    { name: "echo", description: "Echo", parameters: z.object({ text: z.string() }), execute: echo },
    { name: "search", description: "Search", parameters: z.object({ query: z.string() }), execute: search },
  ] as const

const toolsOf = (tools: Tools) => {
  const [first, second] = optionsOf(tools)
  return [new FunctionTool(first), new FunctionTool(second)]
}

const wrapped: Framework = {
  name: "@google/adk with enforceTool",
  ofException: "failed: throw plainly",
  // The simulator gives none for this model, and the framework makes its own.
  callIds: /^adk-./,
  async run({ url, policy, tools }) {
    const enforce = { policy, sessionId: "s1" }
    const [first, second] = optionsOf(tools)
    await runAgent(url, [new FunctionTool(enforceTool(first, enforce)), new FunctionTool(enforceTool(second, enforce))])
  },
}
const withPlugin: Framework = {
  ...wrapped,
  name: "@google/adk with PolicyPlugin",
  run: ({ url, policy, tools }) => runAgent(url, toolsOf(tools), [new PolicyPlugin({ policy })]),
}

enforceCases(wrapped)
enforceCases(withPlugin)

describe("@google/adk", () => {
  test("a policy that throws in every stage does not make the framework ask without end", async () => {
    const fail = async () => {
      throw new Error("down")
    }
    const policy: ToolPolicy = { preTool: fail, postTool: fail, send: fail }
    for (const framework of [wrapped, withPlugin]) {
      const { ran, seen, error } = await runScene(framework, policy, [echo("hello"), search])
      expect(error).toBeUndefined()
      expect(ran).toEqual([])
      expect(seen).toHaveLength(2)
    }
  })

  test("the output of a call whose arguments a later callback changes is withheld", async () => {
    class Changing extends BasePlugin {
      override async beforeToolCallback({ toolArgs }: { toolArgs: Record<string, unknown> }) {
        toolArgs.text = "forbidden"
        return undefined
      }
    }
    const { seen } = await runScene(
      {
        ...withPlugin,
        run: ({ url, policy, tools }) =>
          runAgent(url, toolsOf(tools), [new PolicyPlugin({ policy }), new Changing("changing")]),
      },
      rules(),
      [echo("hello")],
    )
    expect(seen.join()).toContain("changed after the policy decided")
    expect(seen.join()).not.toContain("echo forbidden")
  })

  test("an agent as a tool runs without the runner's plugins: the plugin refuses it, unless that is accepted", async () => {
    const run = async (unenforced: "allow" | undefined) => {
      const { policy, asked } = recorded(rules())
      const { ran } = await runScene(
        {
          ...withPlugin,
          run: ({ url, tools }) => {
            const inner = new LlmAgent({ name: "search", model: new OneCall({ model: "m" }), tools: toolsOf(tools) })
            const plugin = new PolicyPlugin({ policy, ...(unenforced && { unenforced }) })
            return runAgent(url, [new AgentTool({ agent: inner })], [plugin])
          },
        },
        policy,
        [{ tool: "search", args: { request: "Go", query: "x" } }],
      )
      return { ran: ran.length, asked: asked.length }
    }
    expect(await run(undefined)).toEqual({ ran: 0, asked: 0 })
    // The trap itself: the call of the inner agent runs, and only that of the outer one was asked about.
    expect(await run("allow")).toEqual({ ran: 1, asked: 1 })
  })

  test("a tool that the provider runs ends the run before the model is asked, unless that is accepted", async () => {
    const run = async (unenforced: "allow" | undefined) => {
      let errors = ""
      const { sent } = await runScene(
        {
          ...withPlugin,
          run: async ({ url, policy }) => {
            const plugin = new PolicyPlugin({ policy, ...(unenforced && { unenforced }) })
            errors = await runAgent(url, [GOOGLE_SEARCH], [plugin])
          },
        },
        rules(),
        [],
      )
      return { errors, sent }
    }
    expect(await run(undefined)).toEqual({ errors: expect.stringContaining("googleSearch"), sent: "" })
    expect((await run("allow")).sent).toContain("googleSearch")
  })
})
