import type { OwnTool, ToolEnforcement } from "../../contract/capabilities.ts"
import { allowsAtOnce } from "../../policy/pipeline.ts"
import { mayUseOwn } from "../../settings/options/extensions.ts"
import type { OpenRun } from "../state/open-run.ts"

/** Warns once of the policy's rules that calls of the backend can bypass. */
export function warnOfUnenforced(run: OpenRun): void {
  const { journal, projection } = run
  for (const message of unenforced(run)) {
    if (projection.warnings.some((known) => known.message === message)) continue
    journal.append({ type: "warning", code: "policy_not_enforced", message })
  }
}

function unenforced({ policy, target, input }: OpenRun): readonly string[] {
  const { name: backend, capabilities } = target.backend
  const { ownTools, enforcement } = capabilities
  const restricted = [...ownTools, otherTool].filter(
    (tool) => mayUseOwn(input.extensions.filter, tool) && !allowsAtOnce(policy, tool.name, tool.risk, tool.uses),
  )
  const those = (applies: (entry: ToolEnforcement) => boolean, tools: readonly OwnTool[]) => {
    const found = tools.filter(({ name }) => {
      const entry = enforcement.find(({ tools: named }) => named === name || named === "*")
      return entry !== undefined && applies(entry)
    })
    return [...new Set(found.map(({ name }) => (name === otherTool.name ? "other tools" : name)))].join(", ")
  }
  const ruled = restricted.filter(({ name, uses }) => !policy.rules.allowsAtOnce(name, uses))
  const unasked = those(({ gate }) => gate !== "ours", restricted)
  const inexact = those(({ gate, exactArguments }) => gate === "ours" && !exactArguments, ruled)
  return [
    ...(unasked === "" ? [] : [`${backend} may run ${unasked} without asking: the policy cannot prevent such a call.`]),
    ...(inexact === ""
      ? []
      : [`${backend} shows only a part of the arguments of ${inexact}: rules about arguments decide by that part.`]),
  ]
}

/** A tool that the backend does not declare. No rule names it. */
const otherTool: OwnTool = { name: "other:undeclared", nativeName: "", effect: "once", risk: "high" }
