import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { claudeCli } from "../../src/backends/claude-cli/index.ts"
import type { BackendEnv } from "../../src/contract/backend-env.ts"
import { backendHost } from "../../src/hosts/node/backends/environment.ts"
import { casesOf } from "../support/backend-cases.ts"
import { claudeCliBench as bench } from "./claude-bench.ts"
import { describeClaude } from "./claude-cases.ts"
import { programs } from "./programs.ts"

describe("claude-cli passes the cases of all backends", () => {
  test.each(casesOf(bench))("%s", async (_, each) => each.run(bench))
})

describeClaude(bench)

test.each([
  ["x", "yes"],
  ["", "no"],
])("with the key %j the probe finds the program and its login: %s", async (key, login) => {
  const home = mkdtempSync(join(tmpdir(), "longhaul-claude-"))
  try {
    const env = { HOME: home, CLAUDE_CONFIG_DIR: home, ANTHROPIC_API_KEY: key }
    const host = backendHost({ workspace: home, variables: () => process.env })
    // Safe: a probe uses only these parts of a host.
    const found = await claudeCli({ command: programs.claude, env }).probe({
      ...host,
      deadlines: { openMs: 60_000, replyMs: 1000, stopMs: 1000 },
    } as BackendEnv)
    expect(found).toEqual({ found: true, version: "2.1.325", login })
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
