import type { Backend } from "../../contract/backend.ts"
import type { Capabilities, Feature } from "../../contract/capabilities.ts"
import type { Selection } from "../../contract/run.ts"
import { checkArgument, having, listOf, required } from "../../lib/schema/shape.ts"

/** True if a backend has a feature. False for an unknown name. */
export function supports(capabilities: Capabilities, feature: string): boolean {
  checkArgument("capabilities", capabilities, having({ features: required(listOf("text")) }))
  checkArgument("feature", feature, "text")
  return capabilities.features.some((each) => each === feature)
}

/** True if a backend has every one of these features. */
export function meetsRequirements(capabilities: Capabilities, features: readonly string[]): boolean {
  checkArgument("features", features, listOf("text"))
  return features.every((feature) => supports(capabilities, feature))
}

/** The features of a backend in a run: its own, and those that the run's tools and MCP servers give to any backend. */
export function featuresIn(
  { features }: Capabilities,
  tools: readonly { readonly name: string }[],
  hasServers: boolean,
): readonly Feature[] {
  const given = tools.flatMap(({ name }) => [...matching(toolWords, name), ...(name === "Bash" ? [CODE] : [])])
  return [...new Set([...features, ...given, ...(hasServers ? (["mcp"] as const) : [])])]
}

const CODE: Feature = "code_execution"

/** The features that the work needs: stated by the caller, and read from the names of the tools and from the task. */
export function requirementsOf(
  tools: readonly { readonly name: string }[],
  task: string,
  stated: readonly Feature[] = [],
): readonly Feature[] {
  const found = new Set<Feature>(stated)
  for (const { name } of tools) for (const feature of matching(toolWords, name)) found.add(feature)
  for (const feature of matching(taskWords, task)) found.add(feature)
  return [...found]
}

/** Words in a tool's name, of any case, and the feature that they need. */
const toolWords: readonly (readonly [RegExp, Feature])[] = [
  [/file|read|write/i, "file_access"],
  [/web|fetch/i, "web_access"],
  [/code|execute/i, "code_execution"],
]

const taskWords: readonly (readonly [RegExp, Feature])[] = [
  [/image|picture|screenshot/i, "vision"],
  [/code|implement|build/i, "code_execution"],
]

function matching(words: readonly (readonly [RegExp, Feature])[], text: string): readonly Feature[] {
  return words.flatMap(([pattern, feature]) => (pattern.test(text) ? [feature] : []))
}

export interface Choice {
  readonly backend: Backend
  readonly reasons: readonly string[]
}

/** Measured times to the first token, by backend. */
export type Latencies = ReadonlyMap<string, number>

/** Chooses among the candidates, which are in order of preference. `fallback`: if none has all the features. */
export function selectBackend(
  candidates: readonly Backend[],
  fallback: Backend,
  requires: readonly Feature[],
  { strategy = "capability_match", preferred }: Selection,
  latencies: Latencies = new Map(),
  featuresOf: (capabilities: Capabilities) => readonly Feature[] = ({ features }) => features,
): Choice {
  const needs = requires.length === 0 ? "No feature is required." : `Required: ${requires.join(", ")}.`
  const has = (capabilities: Capabilities) => {
    const features = featuresOf(capabilities)
    return requires.every((feature) => features.includes(feature))
  }
  const capable = candidates.filter(({ capabilities }) => has(capabilities))
  const [first, ...others] = capable
  if (first === undefined) return { backend: fallback, reasons: [needs, "No backend has all of these."] }
  const liked = capable.find(({ name }) => name === preferred)
  if (liked) return { backend: liked, reasons: [needs, "It is the preferred one."] }
  const costOf = ({ capabilities }: Backend) => capabilities.usdPer1k.input
  const latencyOf = ({ name, capabilities }: Backend) => latencies.get(name) ?? capabilities.latencyMs
  const least = (value: (backend: Backend) => number) =>
    others.reduce((best, each) => (value(each) < value(best) ? each : best), first)
  switch (strategy) {
    case "cost_optimized": {
      const backend = least(costOf)
      return { backend, reasons: [needs, `Its input costs least: $${costOf(backend)} per 1,000 tokens.`] }
    }
    case "latency_optimized": {
      const backend = least(latencyOf)
      const how = latencies.has(backend.name) ? "measured" : "declared"
      return { backend, reasons: [needs, `It answers fastest: ${Math.round(latencyOf(backend))} ms, ${how}.`] }
    }
    case "capability_match":
      return { backend: first, reasons: [needs, "It is the first that has all of these."] }
  }
}
