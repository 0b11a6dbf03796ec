import { expect, test } from "vitest"
import { createScene } from "./scene.ts"

test("codex: four runs at once work in a home that no Codex has used before", async () => {
  const scene = await createScene(() => "Done.")
  const runtimes = [1, 2, 3, 4].map(() => scene.runtime())
  const results = await Promise.all(runtimes.map((runtime, index) => runtime.run({ task: "Go.", runId: `r${index}` })))
  expect(results.map(({ status, error }) => error?.message ?? status)).toEqual(["done", "done", "done", "done"])
})
