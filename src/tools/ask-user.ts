import { type Tool, ToolError } from "../contract/tool.ts"
import { usesNothing } from "../lib/access/arguments.ts"
import { defineTool } from "./kernel/define-tool.ts"

/** The run pauses for the answer, which may take days and come from any process. */
export function askUserTool(): Tool {
  return defineTool({
    name: "AskUser",
    description:
      "Asks the user a question that only they can answer, and returns their answer. " +
      "Ask one question at a time, and only if you cannot find out or decide yourself: the answer may take days.",
    uses: usesNothing,
    effect: "none",
    concurrent: false,
    inputSchema: {
      type: "object",
      properties: {
        question: {
          type: "string",
          minLength: 1,
          description: "The question, with everything the user needs to answer it.",
        },
        options: {
          type: "array",
          items: { type: "string", minLength: 1 },
          maxItems: 20,
          description: "Possible answers, if the user should choose one of them.",
        },
      },
      required: ["question"],
      additionalProperties: false,
    },
    question: questionOf,
    run: () => {
      throw new ToolError("denied", "No user is available to answer.")
    },
  })
}

function questionOf({ question, options }: { readonly question?: unknown; readonly options?: unknown }): string {
  if (typeof question !== "string" || question === "") throw new ToolError("invalid_input", "The question is empty.")
  return Array.isArray(options) ? `${question}\n${options.map((option) => `- ${String(option)}`).join("\n")}` : question
}
