import { expect, test } from "vitest"
import { ScriptedCodex } from "../../../test/support/gates/codex.ts"
import type { CallKind } from "../../../test/support/gates/column.ts"
import { allowEverything, openingRequest, RecordingHost } from "../../../test/support/scripted-agent.ts"
import { until } from "../../../test/support/watchdog.ts"
import type { Permit } from "../../contract/backend.ts"
import { codex } from "./index.ts"

/** Runs one session with so many turns. The model makes a call in each answer, and the last one has none. */
async function run(kind: CallKind, turns: number, calls = 3) {
  const ran: string[] = []
  const request = { ...openingRequest, limits: { turns, reserved: false } }
  const direction = {
    kind,
    async play({ answer }: { answer(call: { readonly id: string; readonly text: string }): Promise<void> }) {
      for (let turn = 1; turn <= calls; turn++) await answer({ id: `c${turn}`, text: `${turn}` })
    },
    run: async (text: string) => void ran.push(text),
  }
  const program = new ScriptedCodex(direction, request)
  const host = new RecordingHost(allowEverything)
  const session = await codex().open(request, program.env)
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  await session.close()
  const { agent } = program
  return { stop, host, ran: kind === "own" ? ran : host.ran.map(String), agent }
}

const cells = (["own", "ours"] as const).flatMap((kind) => [1, 2].map((turns) => [kind, turns] as const))

test.each(cells)(
  "Codex is stopped at the %s call of turn %i, its last one, which does not run",
  async (kind, turns) => {
    const { stop, host, ran, agent } = await run(kind, turns)
    expect(stop).toEqual({ reason: "limit" })
    expect(ran).toHaveLength(turns - 1)
    expect(host.told.filter((line) => line.startsWith("call"))).toHaveLength(turns)
    expect(host.told.at(-1)).toBe("result denied")
    // Without an answer to its question Codex cannot ask its model again.
    expect(agent.sent("turn/interrupt")).toHaveLength(1)
  },
)

test.each(["own", "ours"] as const)("an answer without a call may be the last one: %s", async (kind) => {
  const { stop, ran } = await run(kind, 3, 2)
  expect(stop).toEqual({ reason: "done", text: "Done." })
  expect(ran).toHaveLength(2)
})

test("a decision that comes after the end of a run permits nothing, although the session is still open", async () => {
  const ran: string[] = []
  let isAsked = () => {}
  let decide = () => {}
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const permit = new Promise<Permit>((resolve) => {
    decide = () => resolve({ kind: "run", args: { command: "late" } })
  })
  const acted: Promise<void>[] = []
  const program = new ScriptedCodex(
    {
      kind: "own",
      async play({ answer }) {
        acted.push(answer({ id: "c1", text: "late" }))
        await asked
      },
      run: async (text) => void ran.push(text),
    },
    openingRequest,
  )
  const host = new RecordingHost(allowEverything)
  host.authorize = () => {
    isAsked()
    return permit
  }
  const session = await codex().open(openingRequest, program.env)
  await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  decide()
  await Promise.all(acted)
  expect(ran).toEqual([])
  await session.close()
})

test("an answer whose call has run is a turn, although the next request fails", async () => {
  const program: ScriptedCodex = new ScriptedCodex(
    {
      kind: "own",
      async play({ answer }) {
        await answer({ id: "c1", text: "once" })
        await until(() => program.agent.isRead)
        const turn = { id: "turn1", status: "failed", error: { message: "It broke." } }
        program.agent.write({ method: "turn/completed", params: { threadId: "t1", turn } })
        await new Promise(() => {})
      },
      run: async () => {},
    },
    openingRequest,
  )
  const host = new RecordingHost(allowEverything)
  const session = await codex().open(openingRequest, program.env)
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  expect(stop).toMatchObject({ reason: "failed" })
  expect(host.events.filter(({ type }) => type === "usage")).toMatchObject([{ turn: 1, stopReason: "tool-calls" }])
  await session.close()
})
