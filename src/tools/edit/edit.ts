import type { JsonSchema } from "../../contract/json.ts"
import type { Tool, ToolContext } from "../../contract/tool.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { filesOf, stopIfAborted } from "../shared.ts"
import { type Replacement, replaceInFile } from "./replace-text.ts"

const replacement = {
  oldText: {
    type: "string",
    description: "What to replace, exactly as it stands in the file, without the line numbers that Read shows.",
  },
  newText: { type: "string", description: "What to put in its place." },
  replaceAll: { type: "boolean", default: false, description: "Replace every occurrence, not just the only one." },
} as const satisfies Record<string, JsonSchema>

const path = {
  type: "string",
  minLength: 1,
  description: "The file, relative to the working directory or absolute.",
} as const

/** Edit: replaces one text in a file. */
export function editTool(): Tool {
  return defineTool({
    name: "Edit",
    description:
      "Replaces text in a file. oldText must occur exactly once, unless replaceAll is set; give enough around it to be " +
      "the only one. Everything else in the file stays as it is, line ends and encoding too.",
    effect: "once",
    input: {
      type: "object",
      properties: { path, ...replacement },
      required: ["path", "oldText", "newText"],
      additionalProperties: false,
    },
    run: ({ path, ...edit }: Replacement & { path: string }, context) => replace(path, [edit], context),
  })
}

/** MultiEdit: several replacements in one file, all or none. */
export function multiEditTool(): Tool {
  return defineTool({
    name: "MultiEdit",
    description:
      "Makes several replacements in one file, in order, each on what the one before it left. All of them or none: " +
      "if one does not fit, the file stays as it was. Each works as Edit does.",
    effect: "once",
    input: {
      type: "object",
      properties: {
        path,
        edits: {
          type: "array",
          minItems: 1,
          maxItems: 200,
          items: {
            type: "object",
            properties: replacement,
            required: ["oldText", "newText"],
            additionalProperties: false,
          },
        },
      },
      required: ["path", "edits"],
      additionalProperties: false,
    },
    run: ({ path, edits }: { path: string; edits: readonly Replacement[] }, context) => replace(path, edits, context),
  })
}

async function replace(path: string, edits: readonly Replacement[], context: ToolContext): Promise<string> {
  const files = filesOf(context)
  const name = files.display(path, context.cwd)
  stopIfAborted(context)
  let count = 0
  let lines: readonly number[] = []
  await files.update(path, context.cwd, (bytes) => {
    const done = replaceInFile(bytes, edits, name)
    count = done.count
    lines = done.firstLines
    return done.bytes
  })
  return `Replaced ${count === 1 ? "one place" : `${count} places`} in ${name} (line ${lines.join(", ")}).`
}
