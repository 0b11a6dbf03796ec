import type { Tool, ToolContext } from "../../contract/tool.ts"
import { type FilePatch, malformed } from "../../lib/patch/file-patch.ts"
import { parsePatch } from "../../lib/patch/parse-patch.ts"
import { type Redact, redactOf } from "../../lib/text/before-cut.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { filesOf, stopIfAborted } from "../shared.ts"
import { planChanges } from "./plan-changes.ts"
import { patchUses } from "./uses.ts"

/** ApplyPatch: changes several files, all or none, even through a crash. */
export function applyPatchTool(): Tool {
  return defineTool({
    name: "ApplyPatch",
    description:
      "Changes several files with one patch: all of it is applied, or nothing is. Reports for each file whether it was " +
      "added (A), modified (M), deleted (D) or renamed (R). A patch is a unified diff, or has this format:\n" +
      "*** Begin Patch\n" +
      "*** Add File: path (followed by its lines, each prefixed with +)\n" +
      "*** Delete File: path\n" +
      "*** Update File: path (followed by *** Move to: path if it is renamed)\n" +
      "@@ optionally a line above the change that locates it, such as the first line of a function\n" +
      " an unchanged line, prefixed with a space\n" +
      "-a removed line\n" +
      "+an added line\n" +
      "*** End Patch\n" +
      "Include about three unchanged lines before and after each change, exactly as in the file, and order hunks as " +
      "in the file. Line endings and encodings are preserved.",
    uses: patchUses,
    effect: "once",
    inputSchema: {
      type: "object",
      properties: { patch: { type: "string", minLength: 1, description: "The complete patch and nothing else." } },
      required: ["patch"],
      additionalProperties: false,
    },
    run: applyPatch,
  })
}

async function applyPatch({ patch }: { readonly patch: string }, context: ToolContext): Promise<string> {
  const files = filesOf(context)
  const redact = redactOf(context)
  const { changes, report } = await planChanges(parsed(patch, redact), files, context.cwd, redact)
  stopIfAborted(context)
  await files.commit(changes, context.cwd)
  return report.join("\n")
}

/** An error quotes the start of a line: it must be of the masked patch. */
function parsed(patch: string, redact: Redact): readonly FilePatch[] {
  try {
    return parsePatch(patch)
  } catch (error) {
    const masked = redact(patch)
    if (masked === patch) throw error
    parsePatch(masked)
    throw malformed("The patch is malformed at a secret in it.")
  }
}
