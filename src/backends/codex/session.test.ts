import { expect, test } from "vitest"
import { ScriptedCodex } from "../../../test/support/gates/codex.ts"
import { allowEverything, openingRequest, RecordingHost } from "../../../test/support/scripted-agent.ts"
import { codex } from "./index.ts"

test("a session is recorded again only when something about it has changed", async () => {
  const program = new ScriptedCodex(
    {
      kind: "own",
      async play({ answer }) {
        for (const id of ["c1", "c2"]) await answer({ id, text: id })
      },
      run: async () => {},
    },
    openingRequest,
  )
  const host = new RecordingHost(allowEverything)
  const session = await codex().open(openingRequest, program.env)
  await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  await session.close()
  const refs = host.events.flatMap((event) => (event.type === "session" ? [event.ref] : []))
  // Before its first call, and after each of its three answers.
  expect(refs.map(({ data }) => data)).toMatchObject(
    [0, 15, 30, 45].map((inputTokens) => ({ counted: { inputTokens } })),
  )
  expect(refs.at(-1)).toEqual(session.ref)
})
