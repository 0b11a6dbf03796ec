import type { JsonSchema } from "../../contract/json.ts"
import type { Tool, ToolContext } from "../../contract/tool.ts"
import { redactOf } from "../../lib/text/before-cut.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { filesOf, stopIfAborted } from "../shared.ts"
import { type Replacement, replaceInFile } from "./replace-text.ts"
import { editUses } from "./uses.ts"

const replacement = {
  oldText: {
    type: "string",
    description: "The text to replace, exactly as in the file, without the line numbers that Read shows.",
  },
  newText: { type: "string", description: "The replacement text." },
  replaceAll: { type: "boolean", default: false, description: "Replace every occurrence." },
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
      "Replaces text in a file. oldText must occur exactly once, unless replaceAll is set; include enough surrounding text to " +
      "make it unique. The rest of the file is unchanged, including line endings and encoding.",
    uses: editUses,
    effect: "once",
    inputSchema: {
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
      "Makes several replacements in one file, in order; each applies to the result of the one before. All or none: " +
      "if one fails, the file is unchanged. Each works like Edit.",
    uses: editUses,
    effect: "once",
    inputSchema: {
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
    const done = replaceInFile(bytes, edits, name, redactOf(context))
    count = done.count
    lines = done.firstLines
    return done.bytes
  })
  return `Replaced ${count === 1 ? "one place" : `${count} places`} in ${name} (line ${lines.join(", ")}).`
}
