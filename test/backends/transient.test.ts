import { afterAll, expect, test } from "vitest"
import { isMain, withRuntime } from "../../src/testing/backend-bench.ts"
import type { FaultOrder } from "../../src/testing/index.ts"
import { openPlace } from "../support/backend-place.ts"
import { isWhole } from "./acp-cases.ts"
import { allBackends } from "./benches.ts"

const faults: readonly (readonly [string, FaultOrder])[] = [
  ["529", { kind: "status", status: 529 }],
  ["429", { kind: "status", status: 429 }],
  ["a reset", { kind: "reset", atByte: 200 }],
  ["a cut answer", { kind: "reset", atByte: 600 }],
]
const vendors = allBackends.filter(({ name }) => ["claude-cli", "codex", "acp:gemini"].includes(name))
const cases = vendors.flatMap((placed) =>
  faults.flatMap(([what, fault]) => [1, 2].map((at) => [placed.name, what, at, placed, fault] as const)),
)

const chosen = isWhole ? cases : cases.filter(([, what]) => what === "529" || what === "a cut answer")
let survived = 0
afterAll(() => console.log(`passing failures of a model's server: ${survived} of ${chosen.length} runs survived`))

// The second request comes after a call, whose effect must not happen again.
test.each(chosen)("%s survives %s in response to request %i", async (_, __, at, placed, fault) => {
  let requests = 0
  const place = await openPlace(
    {
      faults: (request) => (isMain(request) && ++requests === at ? fault : null),
      script(request) {
        if (!isMain(request)) return "A title"
        const seen = JSON.stringify(request.messages)
        return /echo ran/.test(seen)
          ? "Done."
          : { parts: [{ toolCall: placed.speaks.command("echo ran | tee -a ran.txt") }] }
      },
    },
    placed.configure,
  )
  try {
    const records: string[] = []
    const result = await withRuntime(place, { policy: { mode: "auto" }, tools: [] }, async (runtime) => {
      const done = await runtime.run({ task: "Go.", runId: "r", limits: { turns: 2 } })
      for await (const { type } of runtime.events("r")) records.push(type)
      return done
    })
    expect(result).toMatchObject({ status: "done", text: "Done.", turns: 2 })
    expect(records.filter((type) => type === "retry")).toHaveLength(1)
    expect(await place.read("ran.txt")).toBe("ran\n")
    survived++
  } finally {
    await place.close()
  }
})
