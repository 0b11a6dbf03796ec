import type { OpenRequest } from "../../contract/backend.ts"
import type { OwnTool, ToolEnforcement } from "../../contract/capabilities.ts"
import type { ToolSpec } from "../../contract/tool.ts"
import { mcpSafe, policyToolName } from "../../lib/mcp-servers.ts"

/** The tools of Claude Code that a session has. Others wait for later events or talk to other sessions. */
export const ownTools: readonly OwnTool[] = [
  { name: "Read", nativeName: "Read", effect: "none", risk: "low" },
  { name: "Write", nativeName: "Write", effect: "repeatable", risk: "medium" },
  { name: "Edit", nativeName: "Edit", effect: "once", risk: "medium" },
  { name: "NotebookEdit", nativeName: "NotebookEdit", effect: "once", risk: "medium" },
  { name: "Bash", nativeName: "Bash", effect: "once", risk: "high" },
  { name: "Glob", nativeName: "Glob", effect: "none", risk: "low" },
  { name: "Grep", nativeName: "Grep", effect: "none", risk: "low" },
  { name: "WebFetch", nativeName: "WebFetch", effect: "none", risk: "low" },
  { name: "WebSearch", nativeName: "WebSearch", effect: "none", risk: "low" },
  // Its effects are those of the calls that the subagent makes, and each of them is asked about.
  { name: "Task", nativeName: "Agent", effect: "none", risk: "low" },
  { name: "Skill", nativeName: "Skill", effect: "none", risk: "low" },
]

/** Every call passes the hook and the permission callback, in subagents too. */
export const enforcement: readonly ToolEnforcement[] = [
  { tools: "*", gate: "ours", rewrite: true, failsClosed: true, exactArguments: true, ledger: "intent" },
]

/** The names under which the program offers the tools that a run may use, for its command line. */
export function toolNames({ withoutTools }: OpenRequest): readonly string[] {
  return ownTools.map(({ name }) => name).filter((name) => !withoutTools.includes(name))
}

/** The tool by which the program returns structured output. It has no effect, and its schema is checked by the program. */
const STRUCTURED_OUTPUT = "StructuredOutput"

/** Which tool a name of the program means. */
export class ToolNames {
  /** The name of the MCP server with the runtime's tools. */
  readonly bridge: string
  readonly #ours: ReadonlyMap<string, string>
  readonly #hasOutputTool: boolean

  constructor(tools: readonly ToolSpec[], servers: readonly string[], hasOutputTool: boolean) {
    let bridge = "longhaul"
    while (servers.some((name) => mcpSafe(name) === bridge)) bridge += "_"
    this.bridge = bridge
    this.#ours = new Map(tools.map(({ name }) => [`mcp__${bridge}__${mcpSafe(name)}`, name]))
    this.#hasOutputTool = hasOutputTool
  }

  /** The name of one of the runtime's tools. */
  ours(wireName: string): string | undefined {
    return this.#ours.get(wireName)
  }

  isOutput(wireName: string): boolean {
    return this.#hasOutputTool && wireName === STRUCTURED_OUTPUT
  }

  /** The declaration of a tool of the program or of the user's MCP servers. Unknown ones are treated with care. */
  own(wireName: string, server?: string): OwnTool {
    const known = ownTools.find(({ nativeName }) => nativeName === wireName)
    return known ?? { name: policyToolName(wireName, server), nativeName: wireName, effect: "once", risk: "high" }
  }
}
