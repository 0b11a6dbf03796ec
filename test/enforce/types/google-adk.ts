import { FunctionTool, InMemoryRunner, LlmAgent } from "@google/adk"
import { enforceTool, PolicyPlugin } from "longhaul/enforce/google-adk"
import type { ToolPolicy } from "longhaul/policy"
import { z } from "zod"

/** Compiled only: `execute` receives the types of the parameters, and the runner takes the plugin, without a cast. */
export function runner(policy: ToolPolicy): InMemoryRunner {
  const weather = new FunctionTool(
    enforceTool(
      {
        name: "weather",
        description: "The weather",
        parameters: z.object({ city: z.string() }),
        execute: async ({ city }, context) => ({ city: city.toUpperCase(), id: context?.functionCallId }),
      },
      { policy, sessionId: "s1" },
    ),
  )
  const agent = new LlmAgent({ name: "a", model: "gemini-2.5-flash", tools: [weather] })
  return new InMemoryRunner({ agent, plugins: [new PolicyPlugin({ policy })] })
}
