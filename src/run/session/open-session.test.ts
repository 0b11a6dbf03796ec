import { expect, test } from "vitest"
import { hostOf, openingRequest, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import { until } from "../../../test/support/watchdog.ts"
import { acp } from "../../backends/acp/index.ts"
import type { Backend } from "../../contract/backend.ts"
import type { BackendEnv } from "../../contract/backend-env.ts"
import { fakeBackend } from "../../testing/index.ts"
import type { OpenRun } from "../state/open-run.ts"
import { openSession } from "./open-session.ts"

const never = () => new Promise<never>(() => {})
const backend = acp({ name: "other", command: "other" })

function opened(backend: Backend, env: BackendEnv, signal: AbortSignal) {
  // Without what an opening does not use.
  return openSession({ config: { backendEnv: env }, target: { backend }, controls: { signal } } as OpenRun, {
    ...openingRequest,
    tools: [],
  })
}

/** Everything in this process that needs no timer has happened then. */
async function aFewTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

test.each(["initialize", "session/new"])(
  "a program that does not answer %s ends with an aborted run",
  async (method) => {
    const agent = new ScriptedAgent({ [method]: never })
    const stop = new AbortController()
    const opening = opened(backend, hostOf(agent), stop.signal)
    const outcome = opening.catch((error: unknown) => error)
    await until(() => agent.sent(method).length > 0)
    stop.abort()
    await aFewTurns()
    expect(agent.ended).toContain("kill")
    expect(await outcome).toMatchObject({ code: "cancelled" })
  },
)

test("no program is started after the abort", async () => {
  let isReady = () => {}
  const ready = new Promise<void>((resolve) => {
    isReady = resolve
  })
  const started: string[] = []
  const spawn: BackendEnv["spawn"] = async ({ command }) => {
    started.push(command)
    return new ScriptedAgent({})
  }
  const slow: Backend = {
    ...backend,
    async open(request, env) {
      await ready
      return backend.open(request, env)
    },
  }
  const stop = new AbortController()
  const opening = opened(slow, { ...hostOf(new ScriptedAgent({})), spawn }, stop.signal)
  const outcome = opening.catch((error: unknown) => error)
  stop.abort()
  isReady()
  expect(await outcome).toMatchObject({ code: "cancelled" })
  expect(started).toEqual([])
})

test("a session that opens after the abort is closed", async () => {
  const closed: string[] = []
  let open = () => {}
  const late: Backend = {
    ...fakeBackend({ script: () => "never asked" }),
    async open(...given) {
      await new Promise<void>((resolve) => {
        open = resolve
      })
      const session = await fakeBackend({ script: () => "never asked" }).open(...given)
      session.close = async () => void closed.push("closed")
      return session
    },
  }
  const stop = new AbortController()
  const outcome = opened(late, hostOf(new ScriptedAgent({})), stop.signal).catch((error: unknown) => error)
  stop.abort()
  await aFewTurns()
  open()
  expect(await outcome).toMatchObject({ code: "cancelled" })
  expect(closed).toEqual(["closed"])
})
