import { type BackendBench, type BackendCase, backendCases } from "../../src/testing/index.ts"

/** The cases that a backend has to pass, by name. */
export function casesOf(bench: BackendBench): readonly (readonly [string, BackendCase])[] {
  return backendCases
    .filter(({ name, needs }) => {
      if (bench.lacks?.[name] !== undefined) return false
      if (needs === "rewrite") return bench.own?.rewrite !== undefined
      return needs !== "own" || bench.own !== undefined
    })
    .map((each) => [each.name, each])
}
