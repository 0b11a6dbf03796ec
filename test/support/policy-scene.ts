import type { Json } from "../../src/contract/json.ts"
import type { PolicyCall, PolicyDocument, PolicyRule } from "../../src/contract/policy.ts"
import { type CompileOptions, compileRules } from "../../src/policy/rules/compile-rules.ts"

/** A call in the workspace /ws. */
export function policyCall(tool: string, args: Json = {}, more: Partial<PolicyCall> = {}): PolicyCall {
  return {
    tool,
    args,
    callId: "call",
    runId: "run",
    cwd: "/ws",
    workspace: "/ws",
    backend: "native",
    sandboxed: false,
    ...more,
  }
}

/** The verdict of a document about one call; "tier" if it has none. */
export async function verdictOf(
  document: PolicyDocument | readonly PolicyRule[],
  call: PolicyCall,
  options: CompileOptions = {},
): Promise<string> {
  // Safe: a list is never a document.
  const whole = (Array.isArray(document) ? { rules: document } : document) as PolicyDocument
  const rules = await compileRules([{ document: whole, source: "test" }], { homeFolder: "/home/me", ...options })
  return (await rules.decide(call)).verdict ?? "tier"
}

/** Links of a made-up file system: each path below a key leads to the same path below its value. */
export function linkedFiles(links: Readonly<Record<string, string>>) {
  return async (path: string): Promise<string> => {
    for (const [from, to] of Object.entries(links)) {
      if (path === from || path.startsWith(`${from}/`)) return to + path.slice(from.length)
    }
    return path
  }
}
