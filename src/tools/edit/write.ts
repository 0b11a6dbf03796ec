import type { Tool, ToolContext } from "../../contract/tool.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { filesOf, stopIfAborted } from "../shared.ts"
import { writeUses } from "./uses.ts"

/** Write: creates a file or replaces all of it. */
export function writeTool(): Tool {
  return defineTool({
    name: "Write",
    description:
      "Writes a text file as UTF-8: creates it, with missing folders, or replaces its entire content. " +
      "The write is atomic. Reports which of the two it did and how many bytes it wrote.",
    uses: writeUses,
    effect: "repeatable",
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", minLength: 1, description: "The file, relative to the working directory or absolute." },
        content: { type: "string", description: "The complete new content." },
        version: {
          type: "string",
          minLength: 1,
          description:
            "The version from Read with withVersion: if the file has changed since, the write is rejected as a conflict.",
        },
      },
      required: ["path", "content"],
      additionalProperties: false,
    },
    run: write,
  })
}

interface WriteArgs {
  readonly path: string
  readonly content: string
  readonly version?: string
}

async function write({ path, content, version }: WriteArgs, context: ToolContext): Promise<string> {
  const files = filesOf(context)
  const bytes = new TextEncoder().encode(content)
  stopIfAborted(context)
  const { created } = await files.write(path, context.cwd, bytes, version === undefined ? {} : { version })
  return `${created ? "Created" : "Replaced"} ${files.display(path, context.cwd)} (${bytes.length} bytes).`
}
