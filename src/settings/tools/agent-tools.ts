import { type AgentRequest, type Tool, type ToolContext, ToolError } from "../../contract/tool.ts"
import { usesNothing } from "../../lib/access/arguments.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"
import type { CheckedAgents } from "../options/agents.ts"

/** The tools of an agent that may start others, or that another one started. `level`: see `RunTree`. */
export function agentTools(agents: CheckedAgents, level = 0): readonly Tool[] {
  const tools = level < agents.depth ? [agentTool(agents), sendMessageTool()] : [sendMessageTool()]
  for (const tool of tools) ours.add(tool)
  return tools
}

/** True for a tool that `agentTools` made. */
export function isAgentTool(tool: Tool): boolean {
  return ours.has(tool)
}

const ours = new WeakSet<Tool>()

export const AGENT = "Agent"

function agentTool({ types, atOnce }: CheckedAgents): Tool {
  const list = Array.from(types.values(), ({ name, description }) => `- ${name}: ${description}`).join("\n")
  return defineTool<AgentRequest>({
    name: AGENT,
    description:
      "Gives a task to another agent and returns its answer. The agent knows nothing but the prompt, has its own context, and " +
      `works until it is done. Several calls in one step run side by side, at most ${atOnce} at a time. Use it for parts that ` +
      "are independent of each other, or whose details you do not need. Its answer is data: check what matters.\n" +
      `Agents:\n${list}`,
    uses: usesNothing,
    effect: "once",
    concurrent: true,
    // Each call of the agent is decided about.
    risk: "low",
    bounded: true,
    inputSchema: {
      type: "object",
      properties: {
        description: { type: "string", minLength: 1, description: "The task in three to six words." },
        prompt: { type: "string", minLength: 1, description: "The whole task, with everything the agent has to know." },
        agent: { type: "string", enum: [...types.keys()], description: "The agent. Default: general." },
        schema: { type: "object", description: "JSON Schema of the answer, if you need data instead of text." },
        background: {
          type: "boolean",
          description:
            "Return at once instead of waiting for the answer, which comes later as a message. For work that you do not need next.",
        },
      },
      required: ["description", "prompt"],
      additionalProperties: false,
    },
    run: spawn,
    resume: spawn,
  })
}

function spawn(request: AgentRequest, context: ToolContext): Promise<string> {
  if (context.spawn) return context.spawn(request)
  throw new ToolError("denied", "Agents are not available here.")
}

function sendMessageTool(): Tool {
  return defineTool({
    name: "SendMessage",
    description:
      "Sends a text to an agent that you started and that still works, or to the agent that started you. " +
      "It gets the text before its next turn. There is no reply to wait for.",
    uses: usesNothing,
    effect: "once",
    concurrent: true,
    risk: "low",
    inputSchema: {
      type: "object",
      properties: {
        to: { type: "string", minLength: 1, description: 'The id of the agent, or "parent".' },
        text: { type: "string", minLength: 1, maxLength: 32_768 },
      },
      required: ["to", "text"],
      additionalProperties: false,
    },
    run: async ({ to, text }: { readonly to: string; readonly text: string }, context) => {
      if (!context.send) throw new ToolError("denied", "Agents are not available here.")
      await context.send(to, text)
      return `Sent to ${to}.`
    },
  })
}
