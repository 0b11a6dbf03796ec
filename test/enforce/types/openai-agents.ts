import { Agent, type FunctionTool, run, tool } from "@openai/agents"
import { enforceTool, enforceTools } from "longhaul/enforce/openai-agents"
import type { ToolPolicy } from "longhaul/policy"
import { z } from "zod"

interface Account {
  readonly user: string
}

/** Compiled only: `execute` receives the types of the parameters, and agents take the tools, without a cast. */
export async function weather(policy: ToolPolicy): Promise<string | undefined> {
  const enforce = { policy, sessionId: "s1" }
  const parsed = tool(
    enforceTool(
      {
        name: "weather",
        description: "The weather",
        parameters: z.object({ city: z.string() }),
        execute: async ({ city }) => city.toUpperCase(),
      },
      enforce,
    ),
  )
  const plain = tool({
    name: "plain",
    description: "Without a schema library",
    parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
    strict: false,
    execute: async (input) => JSON.stringify(input),
  })
  const [ready] = enforceTools([plain], enforce)
  ready satisfies FunctionTool<unknown, never> | undefined
  const agent = new Agent({ name: "a", tools: [parsed, ...enforceTools([parsed, plain], enforce)] })
  const result = await run(agent, "Weather?")
  return result.finalOutput
}

export function withContext(policy: ToolPolicy): Agent<Account> {
  const parameters = z.object({ city: z.string() })
  const typed = tool(
    enforceTool<typeof parameters, Account>(
      {
        name: "weather",
        description: "The weather",
        parameters,
        execute: async ({ city }, context) => `${city.toUpperCase()} ${context?.context.user.length}`,
      },
      { policy, sessionId: "s1" },
    ),
  )
  return new Agent<Account>({ name: "a", tools: [typed, ...enforceTools([typed], { policy, sessionId: "s1" })] })
}
