import type { Capabilities } from "../../contract/capabilities.ts"
import type { ToolFilter } from "../../contract/extension.ts"
import { mayUseOwn } from "../../settings/options/extensions.ts"

/** The effect of a restriction of a run's tools on the own tools of its backend. */
export interface WithheldTools {
  /** The tools that the backend starts without, or whose calls are denied. */
  readonly names: readonly string[]
  /** A tool that nothing keeps the backend from using; `*`: any that it has not declared. Undefined: there is none. */
  readonly unstoppable: string | undefined
}

export function withheldTools(
  { ownTools, enforcement, removesTools }: Pick<Capabilities, "ownTools" | "enforcement" | "removesTools">,
  filter: ToolFilter,
): WithheldTools {
  const gateOf = (name: string) => enforcement.find(({ tools }) => tools === name || tools === "*")?.gate
  const others = enforcement.map(({ tools }) => ({ name: tools, nativeName: tools }))
  const withheld = [...ownTools, ...others].filter((tool) => tool.name !== "*" && !mayUseOwn(filter, tool))
  const names = [...new Set(withheld.map(({ name }) => name))]
  // A list of what is allowed also covers tools that are not declared.
  const restricted = filter.allowed === undefined ? names : [...names, "*"]
  const isStopped = (name: string) => removesTools || ownTools.length === 0 || gateOf(name) === "ours"
  return { names, unstoppable: restricted.find((name) => !isStopped(name)) }
}

/** Why a restriction is refused. */
export function cannotWithhold(backend: string, unstoppable: string): string {
  return `${backend} cannot be kept from using ${unstoppable === "*" ? "its other tools" : unstoppable}.`
}
