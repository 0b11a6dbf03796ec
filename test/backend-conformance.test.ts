import { expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import { anthropic } from "../src/providers/anthropic/index.ts"
import { type BackendBench, backendCases } from "../src/testing/index.ts"
import { openPlace } from "./support/backend-place.ts"

const bench: BackendBench = {
  name: "native",
  ours: (name, args) => ({ name, args }),
  open: (options) =>
    openPlace(options, ({ url, isLoggedOut }) => ({
      backend: native({ retry: { attempts: 1 } }),
      model: anthropic({ model: "claude-sonnet-4-6", baseUrl: url, ...(!isLoggedOut && { apiKey: "key" }) }),
    })),
}

test.each(
  backendCases.filter(({ needs }) => needs !== "own" && needs !== "rewrite").map((each) => [each.name, each] as const),
)("native: %s", async (_, each) => {
  await each.run(bench)
})

test("every case has a name of its own", () => {
  const names = backendCases.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})
