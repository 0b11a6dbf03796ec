import { afterAll, describe, expect, test } from "vitest"
import type { Model } from "../src/contract/provider.ts"
import { nodeTransport } from "../src/hosts/node/http-transport.ts"
import { type Served, serve } from "../src/hosts/node/serve.ts"
import { anthropic } from "../src/providers/anthropic/index.ts"
import { type BenchOptions, type ProviderBench, providerCases } from "../src/testing/index.ts"

const servers: Served[] = []
const transport = nodeTransport()
afterAll(async () => {
  for (const server of servers) await server.close()
})

/** A bench over real sockets. */
function bench(
  origin: string,
  model: (options: BenchOptions & { readonly baseUrl: string }) => Model,
  lacks: Readonly<Record<string, string>> = {},
): ProviderBench {
  return {
    origin,
    lacks,
    async connect(simulator, options) {
      const server = await serve(simulator.fetch)
      servers.push(server)
      return { model: model({ ...options, baseUrl: server.url }), transport }
    },
  }
}

const benches: readonly ProviderBench[] = [
  bench("anthropic:claude-sonnet-4-6", (options) => anthropic({ model: "claude-sonnet-4-6", ...options })),
]

/** What became of each case with each provider, printed at the end. */
const outcomes = new Map<string, Map<string, string>>()

describe.each(benches.map((each) => ({ bench: each, name: each.origin })))("$name", ({ bench: each, name }) => {
  for (const { name: title, run } of providerCases) {
    const reason = each.lacks?.[title]
    const row = outcomes.get(title) ?? new Map<string, string>()
    outcomes.set(title, row)
    row.set(name, reason === undefined ? "FAIL" : `none: ${reason}`)
    if (reason !== undefined) continue
    test(title, async () => {
      await run(each)
      row.set(name, "ok")
    })
  }
})

test("what a wire lacks is a case that exists", () => {
  const titles = providerCases.map(({ name }) => name)
  for (const each of benches) expect(titles).toEqual(expect.arrayContaining(Object.keys(each.lacks ?? {})))
})

afterAll(() => {
  const lines = Array.from(
    outcomes,
    ([title, row]) => `  ${title}: ${[...row].map((cell) => cell.join(" ")).join(" · ")}`,
  )
  console.log(`provider cases (${providerCases.length} × ${benches.length}):\n${lines.join("\n")}`)
})
