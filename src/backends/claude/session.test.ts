import { expect, test } from "vitest"
import { hostOf, openingRequest, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import type { OpenRequest } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import { type Launch, openClaude } from "./session.ts"
import type { ClaudeProgram } from "./wire.ts"

const program: ClaudeProgram = {
  version: "2.1.325",
  next: async () => undefined,
  async send() {},
  async interrupt() {},
  usage: async () => undefined,
  ended: Promise.resolve("exit 0"),
  async close() {},
  async kill() {},
}

/** Opens a session on a program that takes every message, and what it was started with. */
async function opened(request: Partial<OpenRequest>, canOffer = true) {
  const started: Launch[] = []
  const { loopback, ...env } = hostOf(new ScriptedAgent({}))
  const given = canOffer && loopback ? { ...env, loopback } : env
  const start = async (launch: Launch) => {
    started.push(launch)
    return program
  }
  const session = await openClaude("claude-cli", { ...openingRequest, ...request }, given, start).catch(
    (error: unknown) => error,
  )
  return { session, started }
}

function stored(id: string, data?: Json): Partial<OpenRequest> {
  const ref = { backend: "claude-cli", version: "1", id, cwd: "/project", resumable: true, ...(data && { data }) }
  return { from: { kind: "session", ref, turns: 1 } }
}

const id = "01234567-89ab-cdef-0123-456789abcdef"

test.each(["", "s1", "../../etc", `${id}x`, `--help ${id}`])(
  "a session with the id %j, which the program would refuse, is lost, and nothing is started",
  async (odd) => {
    const { session, started } = await opened(stored(odd))
    expect(session).toMatchObject({ code: "session_lost" })
    expect(started).toEqual([])
  },
)

test("the runtime's tools need a host that can offer them to a program", async () => {
  const { session, started } = await opened({}, false)
  expect(session).toMatchObject({ code: "capability_mismatch", fix: "Use the runtime of longhaul/node." })
  expect(started).toEqual([])
  expect((await opened({ tools: [] }, false)).started).toHaveLength(1)
})

test("a stored session goes on from what it has counted, or from nothing if it was stored without that", async () => {
  const counted = { inputTokens: 7, outputTokens: 1, cacheReadTokens: 2, cacheWriteTokens: 3, costUsd: 0.5 }
  expect((await opened(stored(id, { counted }))).session).toMatchObject({ ref: { id, data: { counted } } })
  expect((await opened(stored(id))).session).toMatchObject({ ref: { id, data: { counted: { inputTokens: 0 } } } })
})
