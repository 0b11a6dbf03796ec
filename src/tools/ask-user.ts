import { type Tool, ToolError } from "../contract/tool.ts"
import { defineTool } from "./kernel/define-tool.ts"

/** The run pauses for the answer, which may take days and come from anywhere. */
export function askUserTool(): Tool {
  return defineTool({
    name: "AskUser",
    description:
      "Asks the person you work for something that only they can say, and returns their answer. " +
      "Ask one question at a time, and only where you cannot find out or decide yourself: it may take them days.",
    effect: "none",
    concurrent: false,
    input: {
      type: "object",
      properties: {
        question: { type: "string", minLength: 1, description: "What you want to know, with all they need to answer." },
        options: {
          type: "array",
          items: { type: "string", minLength: 1 },
          maxItems: 20,
          description: "Answers to choose from, if there are only these.",
        },
      },
      required: ["question"],
      additionalProperties: false,
    },
    question: questionOf,
    run: () => {
      throw new ToolError("denied", "There is nobody to ask here.")
    },
  })
}

function questionOf({ question, options }: { readonly question?: unknown; readonly options?: unknown }): string {
  if (typeof question !== "string" || question === "") throw new ToolError("invalid_input", "There is no question.")
  return Array.isArray(options) ? `${question}\n${options.map((option) => `- ${String(option)}`).join("\n")}` : question
}
