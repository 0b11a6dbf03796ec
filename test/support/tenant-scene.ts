import { mkdtempSync } from "node:fs"
import { join } from "node:path"
import type { JsonObject } from "../../src/contract/json.ts"
import type { RunResult } from "../../src/contract/result.ts"
import { createRuntime, type NodeRuntimeConfig } from "../../src/hosts/node/index.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import { bashTool, fileTools } from "../../src/tools/index.ts"

export const toolCall = (name: string, args: JsonObject) => ({ parts: [{ toolCall: { name, args } }] })

/** One run of a tenant whose model makes these calls; each runtime is closed after its run. */
export async function runAs(
  base: string,
  { runId = "same", ...config }: NodeRuntimeConfig & { readonly runId?: string },
  calls: readonly ReturnType<typeof toolCall>[],
): Promise<RunResult> {
  const steps: ScriptedStep[] = [...calls, "Done."]
  const workspace = mkdtempSync(join(base, "workspace-"))
  const tools = [...fileTools(), bashTool()]
  const runtime = createRuntime({
    workspace,
    tools,
    model: scriptedModel(steps),
    policy: { preApproved: ["Bash"] },
    ...config,
  })
  try {
    return await runtime.run({ task: "Go.", runId })
  } finally {
    await runtime.close()
  }
}

/** More than one result shows, so that the complete output is in a file. */
export const longSecret = toolCall("Bash", { command: "seq 1 20000 | sed 's/^/SENTINEL /'" })

/** The file named in the result of a command. */
export function outputOf({ toolCalls }: RunResult): string {
  return /complete output is in ([^\]\s]+)\]/.exec(toolCalls.map(({ result }) => result).join("\n"))?.[1] ?? ""
}
