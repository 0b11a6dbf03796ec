import { generateText, tool } from "ai-6"
import { openai } from "ai-sdk-openai-3"
import { enforceTools } from "longhaul/enforce/ai-sdk"
import type { ToolPolicy } from "longhaul/policy"
import { z } from "zod"

/** Compiled only: the wrapped tools keep the types of their arguments and outputs, without a cast. */
export async function weather(policy: ToolPolicy): Promise<number> {
  const tools = enforceTools(
    {
      weather: tool({
        description: "The weather",
        inputSchema: z.object({ city: z.string() }),
        execute: async ({ city }, { toolCallId }) => ({ city: city.toUpperCase(), id: toolCallId, degrees: 21 }),
      }),
      steps: tool({
        inputSchema: z.object({ count: z.number() }),
        async *execute({ count }) {
          for (let at = 0; at < count; at++) yield at
        },
      }),
    },
    { policy, sessionId: "s1" },
  )
  const { toolResults, steps } = await generateText({ model: openai("gpt-5"), tools, prompt: "Weather?" })
  for (const { toolCalls } of steps) for (const call of toolCalls) if (!call.dynamic) call.input satisfies object
  const [first] = toolResults
  if (first === undefined || first.dynamic || first.toolName !== "weather") return 0
  first.output.city satisfies string
  return first.output.degrees + first.input.city.length
}
