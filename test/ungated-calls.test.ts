import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { TurnHost } from "../src/contract/backend.ts"
import type { OwnTool, ToolEnforcement } from "../src/contract/capabilities.ts"
import type { Json } from "../src/contract/json.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import { createRuntime } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { actingBackend } from "./support/acting-backend.ts"

type Policy = RuntimeConfig["policy"]

const workspace = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-ungated-")))
afterAll(() => rmSync(workspace, { recursive: true, force: true }))

const bash: OwnTool = { name: "Bash", nativeName: "shell", effect: "once", risk: "high" }
const ours: ToolEnforcement = {
  ...{ tools: "*", gate: "ours", rewrite: false, failsClosed: true, exactArguments: true, ledger: "intent" },
}
const args = { command: "touch x" }

async function run(
  act: (host: TurnHost) => Promise<void>,
  policy: Policy,
  entry = ours,
  disabledTools: readonly string[] = [],
) {
  const backend = actingBackend(act, { ownTools: [bash], enforcement: [entry] })
  const runtime = createRuntime({ workspace, store: memoryStore(), backend, tools: [], ...(policy && { policy }) })
  try {
    return await runtime.run({ task: "Go.", disabledTools })
  } finally {
    await runtime.close()
  }
}

const announce = (host: TurnHost, given: Json = args, name = "Bash") =>
  host.emit({ type: "tool-call", turn: 1, callId: "c1", name, args: given, executor: "backend" })
const finish = (host: TurnHost, status: "ok" | "error" = "ok", rejected = false) =>
  host.emit({
    ...{ type: "tool-result", callId: "c1", outcome: { status, output: [{ type: "text", text: "did it" }] } },
    ...{ durationMs: 1, ...(rejected && { rejected }) },
  })

const allow: Policy = { rules: [{ allow: { tool: "*" } }] }
const deny: Policy = { rules: [{ deny: { tool: "Bash" } }, { allow: { tool: "*" } }] }
const ask: Policy = { rules: [{ ask: { tool: "Bash" } }] }

describe("a call that a backend ran without asking", () => {
  test.each<readonly [string, Policy, "ok" | "error"]>([
    ["denies", deny, "ok"],
    ["denies, whatever its result,", deny, "error"],
    ["asks about", ask, "ok"],
  ])(
    "a call without asking fails the run where the policy %s it, and is recorded as such",
    async (_, policy, status) => {
      const result = await run(async (host) => {
        announce(host)
        finish(host, status)
      }, policy)
      expect(result).toMatchObject({
        status: "failed",
        error: { code: "policy_denied", message: expect.stringContaining("without asking"), fix: expect.any(String) },
        toolCalls: [{ name: "Bash", status, ungated: "unasked" }],
      })
    },
  )

  test("a call without asking is recorded and fails no run if it failed and the run may not use its tool: no such tool was offered", async () => {
    const act = (status: "ok" | "error") => async (host: TurnHost) => {
      announce(host)
      finish(host, status)
    }
    const failed = await run(act("error"), allow, ours, ["Bash"])
    expect(failed).toMatchObject({ status: "done", toolCalls: [{ name: "Bash", status: "error", ungated: "unasked" }] })
    const ran = await run(act("ok"), allow, ours, ["Bash"])
    expect(ran).toMatchObject({ status: "failed", error: { code: "policy_denied" } })
  })

  test.each(["Bash", "WebFetch", "mcp__files__move", "Write", "Read"])(
    "%s fails the run if it may have done something",
    async (name) => {
      const denied: Policy = { rules: [{ deny: { tool: "*" } }] }
      const result = await run(async (host) => {
        announce(host, { path: "a.txt" }, name)
        finish(host, "error")
      }, denied)
      // A file tool that failed has neither changed nor shown anything.
      const isHarmless = ["Write", "Read"].includes(name)
      expect(result).toMatchObject({
        status: isHarmless ? "done" : "failed",
        toolCalls: [{ name, ungated: "unasked" }],
      })
    },
  )

  test("a call without asking is recorded as such where the policy allows it, with a warning where it should have asked", async () => {
    const act = async (host: TurnHost) => {
      announce(host)
      finish(host)
    }
    const asking = await run(act, allow)
    expect(asking).toMatchObject({ status: "done", toolCalls: [{ status: "ok", ungated: "unasked" }] })
    expect(asking.warnings).toMatchObject([{ code: "call_not_asked" }])
    const known = await run(act, { mode: "auto" }, { ...ours, gate: "vendor" })
    expect(known).toMatchObject({ status: "done", toolCalls: [{ ungated: "unasked" }], warnings: [] })
  })

  test("a call without asking has not run if the vendor did not accept it", async () => {
    const result = await run(async (host) => {
      announce(host)
      finish(host, "error", true)
    }, deny)
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
    expect(result.toolCalls[0]).not.toHaveProperty("ungated")
  })
})

describe("a call that was refused", () => {
  test("a refused call that ran all the same fails the run, and its result replaces the refusal", async () => {
    const result = await run(async (host) => {
      announce(host)
      expect(await host.authorize({ callId: "c1", name: "Bash", args }, bash)).toMatchObject({ kind: "refuse" })
      finish(host)
    }, deny)
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "policy_denied", message: expect.stringContaining("although it was refused") },
      toolCalls: [{ status: "ok", result: "did it", ungated: "refused" }],
    })
  })

  test("a call that its backend refused, since it could not run it as it was permitted, counts as refused", async () => {
    const result = await run(async (host) => {
      announce(host)
      await host.authorize({ callId: "c1", name: "Bash", args }, bash)
      host.emit({ type: "tool-result", callId: "c1", outcome: { status: "denied", output: [] }, durationMs: 0 })
      finish(host)
    }, allow)
    expect(result).toMatchObject({ status: "failed", toolCalls: [{ ungated: "refused" }] })
  })

  test("a refused call that is reported as failed has not run", async () => {
    const result = await run(async (host) => {
      announce(host)
      await host.authorize({ callId: "c1", name: "Bash", args }, bash)
      finish(host, "error")
    }, deny)
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
  })
})

test("a permitted call is not flagged", async () => {
  const result = await run(async (host) => {
    announce(host)
    await host.authorize({ callId: "c1", name: "Bash", args }, bash)
    finish(host)
  }, allow)
  expect(result).toMatchObject({ status: "done", warnings: [], toolCalls: [{ status: "ok" }] })
  expect(result.toolCalls[0]).not.toHaveProperty("ungated")
})

describe("a rule that the backend cannot enforce", () => {
  const nothing = async () => {}
  const codes = async (policy: Policy, entry: ToolEnforcement) =>
    (await run(nothing, policy, entry)).warnings.map(({ code, message }) => [code, message])

  test("a rule that the backend cannot enforce is a warning of the run, which names the tool", async () => {
    expect(await codes(deny, { ...ours, gate: "vendor" })).toEqual([
      ["policy_not_enforced", "fake may run Bash without asking: the policy cannot prevent such a call."],
    ])
    const denyAll: Policy = { rules: [{ deny: { tool: "*" } }] }
    expect(await codes(denyAll, { ...ours, gate: "none" })).toEqual([
      ["policy_not_enforced", "fake may run Bash, other tools without asking: the policy cannot prevent such a call."],
    ])
    const paths: Policy = { rules: [{ deny: { tool: "Bash", command: "rm *" } }, { allow: { tool: "*" } }] }
    expect(await codes(paths, { ...ours, exactArguments: false })).toEqual([
      ["policy_not_enforced", expect.stringContaining("only a part of the arguments of Bash")],
    ])
  })

  test("a rule is no warning where the policy allows everything, or the backend asks about every call", async () => {
    expect(await codes({ mode: "auto" }, { ...ours, gate: "vendor" })).toEqual([])
    expect(await codes(deny, ours)).toEqual([])
  })
})
