import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { ResumeBy } from "../src/contract/session.ts"
import {
  type BackendBench,
  backendCases,
  type FakeSession,
  fakeBackend,
  type SimulatedRequest,
} from "../src/testing/index.ts"
import { casesOf } from "./support/backend-cases.ts"
import { benchOf, openPlace } from "./support/backend-place.ts"
import { placedNative } from "./support/placed-native.ts"

const benches: readonly BackendBench[] = [
  benchOf(placedNative),
  ...(["replay", "settle", "repeat"] as const).map(fakeBench),
]

/** The fake has no server, so faults of one do not concern it. */
function fakeBench(resumeBy: ResumeBy): BackendBench {
  const noServer = "it has no server"
  return {
    name: `fake-${resumeBy}`,
    ours: (name, args) => ({ name, args }),
    own: {
      tool: "Write",
      call: (file, text) => ({ name: "Write", args: { path: file, text } }),
      rewrite: (_, text) => ({ "/text": text }),
    },
    lacks: {
      "a rate limit is a typed failure": noServer,
      "an error of the server is a typed failure": noServer,
      "a refused key is a typed failure": noServer,
      "a stream that ends in the middle is a typed failure": noServer,
      "without credentials the failure is auth, with a fix": noServer,
    },
    async open(options) {
      const requests: SimulatedRequest[] = []
      const sessions = new Map<string, FakeSession>()
      const place = await openPlace(options, ({ workspace }) => ({
        backend: fakeBackend({
          name: `fake-${resumeBy}`,
          resumeBy,
          sessions,
          script(request) {
            requests.push({ ...request, messages: [...request.messages] })
            return options.script(request)
          },
          write(args) {
            const { path, text } = args as { readonly path: string; readonly text: string }
            writeFileSync(join(workspace, path), text)
          },
        }),
      }))
      return { ...place, simulator: { ...place.simulator, requests } }
    },
  }
}

describe.each(benches.map((bench) => [bench.name, bench] as const))("%s", (_, bench) => {
  test.each(casesOf(bench))("%s", async (_, each) => {
    await each.run(bench)
  })
})

test("every case has a name of its own", () => {
  const names = backendCases.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})
