import { expect, onTestFinished, test, vi } from "vitest"
import type { LineChannel, ProgramExit } from "../../contract/backend-env.ts"
import { startQuery } from "./program.ts"
import type { ClaudeAgentSdk, ClaudeQuery, HostOptions } from "./sdk.ts"

/** Starts a session whose program writes these lines, and whose SDK answers so when it is asked whether it is open. */
function started(
  reply: () => Promise<unknown>,
  lines: readonly string[] = [],
  { openMs = 60_000, spawns = true, goesSilent = false } = {},
) {
  const ended: string[] = []
  let prompts: Promise<readonly unknown[]> = Promise.resolve([])
  let exited: (exit: ProgramExit) => void = () => {}
  const channel: LineChannel = {
    lines: {
      async *[Symbol.asyncIterator]() {
        yield* lines
      },
    },
    send: async () => {},
    endInput: () => exited({ code: 0, signal: null, stderr: "" }),
    exit: new Promise((resolve) => (exited = resolve)),
    async end(how) {
      ended.push(how)
      exited({ code: 1, signal: null, stderr: "" })
    },
  }
  const sdk: ClaudeAgentSdk = {
    query({ prompt, options }): ClaudeQuery {
      prompts = read(prompt)
      // Safe: `startQuery` passes them.
      const host = options as unknown as HostOptions
      if (spawns) host.spawnClaudeCodeProcess({ command: "claude", args: [], env: {} })
      return {
        async *[Symbol.asyncIterator]() {
          if (!goesSilent) yield await channel.exit.then(() => ({ type: "keep_alive" }))
        },
        initializationResult: reply,
        interrupt: async () => {},
        close() {},
      }
    },
  }
  const options = { cwd: "/project", env: {}, extraArgs: {} }
  const deadlines = { openMs, replyMs: openMs, stopMs: openMs }
  const program = startQuery({ sdk, options, deadlines, spawn: async () => channel })
  return { ended, program, prompts, exit: (code: number) => exited({ code, signal: null, stderr: "" }) }
}

/** What there is until the end, but not more than three. */
async function read(prompts: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const found: unknown[] = []
  for await (const prompt of prompts) if (found.push(prompt) === 3) break
  return found
}

const never = () => new Promise<never>(() => {})

test("a session that the SDK reports as open has the version of its program", async () => {
  const { program, ended } = started(async () => ({ claude_code_version: "2.1.325" }))
  expect((await program).version).toBe("2.1.325")
  expect(ended).toEqual([])
})

test.each([
  ["rejects", () => Promise.reject(new Error("no"))],
  ["answers something else", async () => "ready"],
])("a session whose SDK %s is not open, and its program is killed", async (_, reply) => {
  const { program, ended } = started(reply)
  await expect(program).rejects.toMatchObject({
    code: "backend_protocol",
    message: expect.stringMatching(/did not open a session in time/),
  })
  expect(ended).toEqual(["kill"])
})

test("a program whose messages end some time before it exits has crashed", async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { program, exit } = started(() => Promise.reject(new Error("no")), [], { goesSilent: true })
  const opening = program.catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(1000)
  exit(7)
  expect(await opening).toMatchObject({ code: "backend_crashed", message: expect.stringContaining("exit 7") })
})

test("a session that is not open in time is not used", async () => {
  const { program, ended } = started(never, [], { openMs: 1 })
  await expect(program).rejects.toMatchObject({ code: "backend_protocol" })
  expect(ended).toEqual(["kill"])
})

test("a program that writes something else than messages before it is open is named with that line", async () => {
  const { program } = started(never, ["Warning: a new version is available"])
  const message = expect.stringContaining("Warning: a new version")
  await expect(program).rejects.toMatchObject({ code: "backend_protocol", message })
})

test("an SDK that starts no program through the host is not used, whatever it answers", async () => {
  const { program } = started(async () => ({ claude_code_version: "2.1.325" }), [], { spawns: false })
  await expect(program).rejects.toMatchObject({ code: "backend_crashed" })
})

test("a session that is closed ends the messages to the SDK, which would wait for more", async () => {
  const { program, prompts } = started(async () => ({}))
  const session = await program
  await session.send([{ type: "text", text: "Go." }], "m1")
  await session.close()
  expect(await prompts).toMatchObject([{ type: "user" }])
})
