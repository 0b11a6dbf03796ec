import type { Tool } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"
import type { Definition } from "./definitions.ts"

/** Browser tools name the files that they write: these land in one folder per run, whatever path the model chose. */
export function withOutputFolder(tool: Tool, definition: Definition, folder: string | undefined): Tool {
  if (folder === undefined || !/^browser_/.test(definition.tool)) return tool
  return {
    ...tool,
    run(args, context) {
      if (!isJsonObject(args) || typeof args.filename !== "string" || args.filename === "")
        return tool.run(args, context)
      return tool.run({ ...args, filename: `${folder}/${context.runScope}/${fileName(args.filename)}` }, context)
    },
  }
}

function fileName(path: string): string {
  const name = path.split(/[\\/]/).at(-1) ?? ""
  return name.replace(/^\.+$/, "") || "file"
}
