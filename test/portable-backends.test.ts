import { expect, test } from "vitest"
import { listRuntimeBridges, resolveRuntimeBridge } from "../src/hosts/node/backends/registry.ts"
import { createRuntime } from "../src/index.ts"
import { memoryStore } from "../src/stores/memory.ts"

/** The others are packages, which bring what they need. */
const programs = listRuntimeBridges().filter((name) => !["native", "pi", "claude-sdk"].includes(name))

test.each(programs)(
  "%s fails on a host that cannot start programs, and the error names the right one",
  async (name) => {
    const runtime = createRuntime({ store: memoryStore(), backend: await resolveRuntimeBridge(name) })
    expect(await runtime.run({ task: "Go." })).toMatchObject({
      status: "failed",
      error: { code: "capability_mismatch", fix: "Use the runtime of longhaul/node." },
    })
  },
)
