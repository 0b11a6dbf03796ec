import type { Tool, ToolContext } from "../../contract/tool.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { filesOf, stopIfAborted } from "../shared.ts"
import { parsePatch } from "./parse-patch.ts"
import { planChanges } from "./plan-changes.ts"

/** ApplyPatch: changes several files, all or none, also through a crash. */
export function applyPatchTool(): Tool {
  return defineTool({
    name: "ApplyPatch",
    description:
      "Changes several files with one patch: all of it is applied, or nothing is. Says for each file whether it was " +
      "added (A), modified (M), deleted (D) or renamed (R). A patch is a unified diff, or has this form:\n" +
      "*** Begin Patch\n" +
      "*** Add File: path (then its lines, each with + before it)\n" +
      "*** Delete File: path\n" +
      "*** Update File: path (then, if it moves, *** Move to: path)\n" +
      "@@ optionally a line above the change that tells where it is, such as a function's first\n" +
      " a line that stays, with a space before it\n" +
      "-a line that goes\n" +
      "+a line that comes\n" +
      "*** End Patch\n" +
      "Give about three lines that stay before and after each change, as they stand in the file, and hunks in the " +
      "order of the file. Line ends and encodings stay as they are.",
    effect: "once",
    input: {
      type: "object",
      properties: { patch: { type: "string", minLength: 1, description: "The whole patch, and nothing else." } },
      required: ["patch"],
      additionalProperties: false,
    },
    run: applyPatch,
  })
}

async function applyPatch({ patch }: { readonly patch: string }, context: ToolContext): Promise<string> {
  const files = filesOf(context)
  const { changes, report } = await planChanges(parsePatch(patch), files, context.cwd)
  stopIfAborted(context)
  await files.commit(changes, context.cwd)
  return report.join("\n")
}
