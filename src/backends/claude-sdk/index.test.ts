import { expect, test } from "vitest"
import type { BackendEnv } from "../../contract/backend-env.ts"
import { claudeSdk } from "./index.ts"

// Safe: neither case uses anything of the host.
const env = {} as BackendEnv

test("a missing package is backend_missing, with the command that installs it", async () => {
  const failure = {
    code: "backend_missing",
    fix: expect.stringContaining("npm install @anthropic-ai/claude-agent-sdk"),
  }
  expect(await claudeSdk().probe(env)).toMatchObject({ found: false, failure })
})

test("an unknown option is rejected", () => {
  expect(() => claudeSdk({ commmand: "claude" } as never)).toThrow(/commmand/)
})
