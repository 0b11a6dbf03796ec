import { expect, test } from "vitest"
import type { RunKey } from "../../contract/store.ts"
import { createRedactor } from "../../policy/redact/redactor.ts"
import { UndeclaredTokens } from "../../settings/config/secrets.ts"
import type { OpenRun } from "./open-run.ts"
import { maskedArgs, realArgs } from "./redact-events.ts"

const own: RunKey = { workspaceId: "acme", runId: "r", nodeId: "main", tenant: "a" }
const call = { callId: "1.0", name: "send", args: { token: `ghp_${"A1b2C3d4".repeat(5)}`.slice(0, 40) } }

test.each([
  ["another tenant", { tenant: "b" }],
  ["no tenant, as an older version began it", { tenant: undefined }],
  ["another run", { runId: "q" }],
  ["another node", { nodeId: "fork" }],
  ["an agent", { agent: "1.0" }],
] as const)("an undeclared secret is not filled in for the same call of a run that differs in %s alone", (_, other) => {
  const config = { undeclared: new UndeclaredTokens() }
  // Safe: nothing else of a run is used.
  const runOf = (key: RunKey) => ({ config, redactor: createRedactor({}), key }) as unknown as OpenRun
  const masked = maskedArgs(runOf(own), call, call.args)
  expect(JSON.stringify(masked)).not.toContain(call.args.token)
  expect(realArgs(runOf(own), { ...call, args: masked })).toEqual(call.args)
  expect(realArgs(runOf({ ...own, ...other }), { ...call, args: masked })).toBeUndefined()
})
