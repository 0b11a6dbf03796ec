import { describe, expect, test } from "vitest"
import type { Capabilities, Feature } from "../../contract/capabilities.ts"
import type { Selection } from "../../contract/run.ts"
import { fakeBackend } from "../../testing/fake-backend.ts"
import { featuresIn, meetsRequirements, requirementsOf, selectBackend, supports } from "./select.ts"

function backend(name: string, features: readonly Feature[], more: Partial<Capabilities> = {}) {
  return fakeBackend({ name, script: () => "", capabilities: { features, ...more } })
}

const price = (input: number) => ({ usdPer1k: { input, output: 1 } })
const fallback = backend("native", [])
const plain = backend("plain", ["tools"], { ...price(0.003), latencyMs: 900 })
const coder = backend("coder", ["tools", "code_execution", "file_access"], { ...price(0.01), latencyMs: 400 })
const seer = backend("seer", ["tools", "vision", "code_execution"], { ...price(0.005), latencyMs: 2000 })
const all = [plain, coder, seer]

describe("CAP-07 CAP-08 features", () => {
  const names = [
    "streaming",
    "tools",
    "parallel_tools",
    "vision",
    "audio",
    "code_execution",
    "file_access",
    "web_access",
    "interrupt",
  ] as const
  test.each(names)("%s is supported if it is declared", (name) => {
    expect(supports(backend("x", [name]).capabilities, name)).toBe(true)
    expect(supports(backend("x", []).capabilities, name)).toBe(false)
  })
  test("an unknown name is not supported, and no requirement is always met", () => {
    expect(supports(coder.capabilities, "teleport")).toBe(false)
    expect(meetsRequirements(coder.capabilities, [])).toBe(true)
    expect(meetsRequirements(coder.capabilities, ["tools", "file_access"])).toBe(true)
    expect(meetsRequirements(coder.capabilities, ["tools", "vision"])).toBe(false)
  })
})

test.each<[string, readonly Feature[], readonly string[], boolean, readonly Feature[]]>([
  ["has its own features", ["vision"], [], false, ["vision"]],
  ["has code_execution with Bash", [], ["Bash"], false, ["code_execution"]],
  ["has file_access with a tool that reads", [], ["Read"], false, ["file_access"]],
  ["has mcp with an MCP server", [], [], true, ["mcp"]],
  ["has each feature once", ["mcp", "file_access"], ["Read", "Write"], true, ["mcp", "file_access"]],
])("a backend in a run %s", (_, own, tools, hasServers, expected) => {
  const { capabilities } = backend("x", own)
  const named = tools.map((name) => ({ name }))
  expect(featuresIn(capabilities, named, hasServers)).toEqual(expected)
})

describe("SEL-03 SEL-04 SEL-05 SEL-10 what the work needs", () => {
  test.each<[string, readonly string[], string, readonly Feature[], readonly Feature[]]>([
    ["SEL-03 a tool that reads", ["Read"], "", [], ["file_access"]],
    ["SEL-03 a tool that writes, in any case", ["reWRITE"], "", [], ["file_access"]],
    ["SEL-03 a tool for files", ["open_file"], "", [], ["file_access"]],
    ["SEL-03 a tool for the web", ["WebSearch"], "", [], ["web_access"]],
    ["SEL-03 a tool that fetches", ["fetchPage"], "", [], ["web_access"]],
    ["SEL-03 a tool that executes", ["EXECUTE"], "", [], ["code_execution"]],
    ["SEL-03 a tool for code", ["code_runner"], "", [], ["code_execution"]],
    ["a tool without such words", ["send"], "", [], []],
    ["SEL-04 a task about an image", [], "Describe the Image.", [], ["vision"]],
    ["SEL-04 a task about a picture", [], "a picture", [], ["vision"]],
    ["SEL-04 a task about a screenshot", [], "the screenshot", [], ["vision"]],
    ["SEL-04 a task that implements", [], "implement it", [], ["code_execution"]],
    ["SEL-04 a task that builds", [], "Build it", [], ["code_execution"]],
    ["SEL-05 the same need twice", ["Read", "Write", "run_code"], "write code", [], ["file_access", "code_execution"]],
    ["SEL-10 what the caller requires", ["Read"], "", ["audio", "file_access"], ["audio", "file_access"]],
  ])("what the work needs is found: %s", (_, tools, task, stated, expected) => {
    const found = requirementsOf(
      tools.map((name) => ({ name })),
      task,
      stated,
    )
    expect(new Set(found)).toEqual(new Set(expected))
    expect(found).toHaveLength(expected.length)
  })
})

describe("SEL-01 SEL-02 SEL-06 SEL-07 SEL-08 SEL-09 the choice", () => {
  test.each<[string, readonly Feature[], Selection, string]>([
    ["SEL-01 SEL-08 by default the first capable one", ["tools"], {}, "plain"],
    ["SEL-08 the first that has all", ["code_execution"], {}, "coder"],
    ["SEL-06 the cheapest of the capable", ["code_execution"], { strategy: "cost_optimized" }, "seer"],
    ["SEL-06 the cheapest of all", ["tools"], { strategy: "cost_optimized" }, "plain"],
    ["SEL-07 the fastest of the capable", ["tools"], { strategy: "latency_optimized" }, "coder"],
    ["SEL-02 the preferred one", ["tools"], { preferred: "seer", strategy: "cost_optimized" }, "seer"],
    ["SEL-02 a preferred one that is not capable falls through", ["file_access"], { preferred: "seer" }, "coder"],
    ["SEL-02 a preferred one that is not registered falls through", ["vision"], { preferred: "other" }, "seer"],
    ["SEL-09 none is capable", ["audio"], {}, "native"],
  ])("a backend is chosen: %s", (_, requires, selection, expected) => {
    const { backend: chosen, reasons } = selectBackend(all, fallback, requires, selection)
    expect(chosen.name).toBe(expected)
    expect(reasons.length).toBeGreaterThan(1)
  })
})

test("SEL-07 measured latencies change the choice", () => {
  const choose = (latencies: ReadonlyMap<string, number>) =>
    selectBackend(all, fallback, ["tools"], { strategy: "latency_optimized" }, latencies)
  expect(choose(new Map()).backend.name).toBe("coder")
  const measured = choose(
    new Map([
      ["coder", 3000],
      ["seer", 120],
    ]),
  )
  expect(measured.backend.name).toBe("seer")
  expect(measured.reasons).toContain("It answers fastest: 120 ms, measured.")
})
