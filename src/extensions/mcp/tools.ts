import type { Risk, Tool, ToolContext } from "../../contract/tool.ts"
import { type Effect, ToolError } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"
import { callWithInput } from "./asked-call.ts"
import type { ServerConnection } from "./connection.ts"
import { resultParts } from "./content.ts"
import type { Definition } from "./definitions.ts"
import { callFailure } from "./failure.ts"

/** A tool of a server as a tool of a run. */
export function serverTool(connection: ServerConnection, definition: Definition): Tool {
  const { server, tool, name, description, inputSchema } = definition
  const effect = effectOf(definition, connection.server.trustHints ?? false)
  return {
    name,
    policyName: `mcp:${server}/${tool}`,
    description,
    inputSchema,
    effect,
    concurrent: effect === "none",
    risk: riskOf(definition),
    async run(args, context: ToolContext) {
      try {
        const result = await callWithInput(connection, tool, isJsonObject(args) ? args : {}, context)
        const parts = resultParts(result)
        if (!result.isError) return parts
        const text = parts.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n")
        throw new ToolError("io", text || `${server} reported an error without a text.`)
      } catch (error) {
        throw error instanceof ToolError ? error : await callFailure(connection, effect, error)
      }
    },
  }
}

/** A server's statement counts only if the host trusts it: a call that is wrongly repeated cannot be undone. */
function effectOf({ hints }: Definition, isTrusted: boolean): Effect {
  if (isTrusted && hints.readOnlyHint === true) return "none"
  return isTrusted && hints.idempotentHint === true ? "repeatable" : "once"
}

/** A server can only make its tools look more dangerous. */
function riskOf({ hints }: Definition): Risk {
  return hints.destructiveHint === true ? "high" : "medium"
}
