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

describe("features", { tags: ["CAP-07", "CAP-08"] }, () => {
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

describe("what the work needs", { tags: ["SEL-03", "SEL-04", "SEL-05", "SEL-10"] }, () => {
  test.each<[string, readonly string[], string, readonly Feature[], readonly Feature[]]>([
    ["a tool that reads", ["Read"], "", [], ["file_access"]],
    ["a tool that writes, in any case", ["reWRITE"], "", [], ["file_access"]],
    ["a tool for files", ["open_file"], "", [], ["file_access"]],
    ["a tool for the web", ["WebSearch"], "", [], ["web_access"]],
    ["a tool that fetches", ["fetchPage"], "", [], ["web_access"]],
    ["a tool that executes", ["EXECUTE"], "", [], ["code_execution"]],
    ["a tool for code", ["code_runner"], "", [], ["code_execution"]],
    ["a tool without such words", ["send"], "", [], []],
    ["a task about an image", [], "Describe the Image.", [], ["vision"]],
    ["a task about a picture", [], "a picture", [], ["vision"]],
    ["a task about a screenshot", [], "the screenshot", [], ["vision"]],
    ["a task that implements", [], "implement it", [], ["code_execution"]],
    ["a task that builds", [], "Build it", [], ["code_execution"]],
    ["the same need twice", ["Read", "Write", "run_code"], "write code", [], ["file_access", "code_execution"]],
    ["what the caller requires", ["Read"], "", ["audio", "file_access"], ["audio", "file_access"]],
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

describe("the choice", { tags: ["SEL-01", "SEL-02", "SEL-06", "SEL-07", "SEL-08", "SEL-09"] }, () => {
  test.each<[string, readonly Feature[], Selection, string]>([
    ["by default the first capable one", ["tools"], {}, "plain"],
    ["the first that has all", ["code_execution"], {}, "coder"],
    ["the cheapest of the capable", ["code_execution"], { strategy: "cost_optimized" }, "seer"],
    ["the cheapest of all", ["tools"], { strategy: "cost_optimized" }, "plain"],
    ["the fastest of the capable", ["tools"], { strategy: "latency_optimized" }, "coder"],
    ["the preferred one", ["tools"], { preferred: "seer", strategy: "cost_optimized" }, "seer"],
    ["a preferred one that is not capable falls through", ["file_access"], { preferred: "seer" }, "coder"],
    ["a preferred one that is not registered falls through", ["vision"], { preferred: "other" }, "seer"],
    ["none is capable", ["audio"], {}, "native"],
  ])("a backend is chosen: %s", (_, requires, selection, expected) => {
    const { backend: chosen, reasons } = selectBackend(all, fallback, requires, selection)
    expect(chosen.name).toBe(expected)
    expect(reasons.length).toBeGreaterThan(1)
  })
})

test("measured latencies change the choice", { tags: ["SEL-07"] }, () => {
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
