import { type BackendBench, type BackendCase, backendCases } from "../../src/testing/index.ts"

/** One case of each kind, for programs that take many seconds to start. */
export const smokeCases: readonly string[] = [
  "a text is answered, with usage, a session and one turn",
  "a tool of the runtime runs once with the exact arguments, and the model gets its output",
  "a tool of the backend runs after its intent was recorded",
  "a tool of the backend that the policy denies does not run",
  "an interrupt while the model answers cancels the run, and it can be resumed",
]

/** The cases that a backend has to pass, by name. `only`: no others, unless `LONGHAUL_ALL_BACKEND_CASES` is set. */
export function casesOf(bench: BackendBench, only?: readonly string[]): readonly (readonly [string, BackendCase])[] {
  const isChosen = (name: string) => !only || process.env.LONGHAUL_ALL_BACKEND_CASES || only.includes(name)
  return backendCases
    .filter(({ name, needs }) => {
      if (bench.lacks?.[name] !== undefined || !isChosen(name)) return false
      if (needs === "rewrite") return bench.own?.rewrite !== undefined
      return needs !== "own" || bench.own !== undefined
    })
    .map((each) => [each.name, each])
}
