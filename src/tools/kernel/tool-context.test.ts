import { expect, test } from "vitest"
import type { Tool } from "../../contract/tool.ts"
import { memoryFiles } from "../memory-files.ts"
import { createDispatcher } from "./dispatch.ts"
import { createToolContext } from "./tool-context.ts"

const tool: Tool = {
  name: "whereAmI",
  description: "Says what it was given.",
  inputSchema: { type: "object" },
  effect: "none",
  concurrent: true,
  risk: "low",
  async run(_, { cwd, env, runId, callId, idempotencyKey, progress }) {
    progress("half")
    const { size } = (await env.files?.info("/a.txt", cwd)) ?? { size: 0 }
    return `${cwd} ${size} ${runId} ${callId === idempotencyKey}`
  },
}

test("a tool reads its folder, its files and its ids from the context", async () => {
  const said: string[] = []
  const files = memoryFiles({ "/a.txt": "hello" })
  const context = createToolContext({ cwd: "/w", env: { files }, runId: "r1", onProgress: (text) => said.push(text) })
  const { output } = await createDispatcher([tool]).dispatch({ name: "whereAmI", args: {} }, context)
  expect(output).toMatchObject([{ text: expect.stringContaining("/w 5 r1 true") }])
  expect(said).toEqual(["half"])
})

test("each context is of one call, without any access unless it is given", () => {
  const [first, second] = [createToolContext(), createToolContext()]
  expect(first.callId).not.toBe(second.callId)
  expect(first).toMatchObject({ env: {}, runId: "none", cwd: "/" })
  expect(first.signal.aborted).toBe(false)
})

test("an unknown option is rejected", () => {
  expect(() => createToolContext({ cmd: "/" } as never)).toThrow(/cmd/)
})
