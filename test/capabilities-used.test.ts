import { expect, test } from "vitest"
import type { Backend, TurnHost } from "../src/contract/backend.ts"
import type { Told } from "../src/contract/capabilities.ts"
import { createRuntime } from "../src/index.ts"
import { fakeBackend } from "../src/testing/index.ts"

/** A run on a backend that reports this of its own work, and does that. */
async function used(tells: readonly Told[], act: (host: TurnHost) => void = () => {}) {
  const base = fakeBackend({ script: () => "Done.", capabilities: { tells } })
  const backend: Backend = {
    ...base,
    async open(request, env) {
      const session = await base.open(request, env)
      return {
        ref: session.ref,
        steer: (text) => session.steer(text),
        interrupt: (mode) => session.interrupt(mode),
        close: () => session.close(),
        run(input, host) {
          act(host)
          return session.run(input, host)
        },
      }
    },
  }
  const result = await createRuntime({ backend, tools: [], policy: { mode: "auto" } }).run({ task: "Go." })
  expect(result.status).toBe("done")
  return result.capabilitiesUsed
}

function ran(host: TurnHost, name: string, args: { readonly [name: string]: string }): void {
  const callId = `${name} ${JSON.stringify(args)}`
  host.emit({ type: "tool-call", turn: 1, callId, name, args, executor: "backend" })
  host.emit({ type: "tool-result", callId, outcome: { status: "ok", output: [] }, durationMs: 1 })
}

const everything = ["subagents", "compaction"] as const

test("what a backend does not report of its own work is null, and false if it reports it", async () => {
  expect(await used([])).toMatchObject({
    ...{ subagentInvoked: null, nativeSubagentsUsed: null, contextCompactionApplied: null },
    toolCompactionApplied: false,
  })
  expect(await used(everything)).toMatchObject({
    ...{ subagentInvoked: false, nativeSubagentsUsed: [], contextCompactionApplied: false },
    toolCompactionApplied: false,
  })
})

test.each([
  ["subagent_type", "explore"],
  ["agent_name", "codebase_investigator"],
])("a subagent of the vendor is used, by its type in %s", async (key, name) => {
  const found = await used(everything, (host) => ran(host, "Task", { [key]: name }))
  expect(found).toMatchObject({ subagentInvoked: true, nativeSubagentsUsed: [name] })
})

test("whether a vendor shortened the results of its own tools is not known", async () => {
  expect((await used(everything, (host) => ran(host, "Read", { path: "a" }))).toolCompactionApplied).toBeNull()
})

test("a conversation that the vendor says it has shortened is compacted", async () => {
  const found = await used([], (host) =>
    host.emit({ type: "warning", code: "conversation_compacted", message: "Codex has shortened its conversation." }),
  )
  expect(found.contextCompactionApplied).toBe(true)
})
