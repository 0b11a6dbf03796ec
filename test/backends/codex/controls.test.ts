import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { defineTool } from "../../../src/tools/kernel/define-tool.ts"
import { until } from "../../support/watchdog.ts"
import { call, createScene, once, recordsOf, shell } from "./scene.ts"

test("codex: a message during a tool reaches the model before its next answer, and is recorded once", async () => {
  const scene = await createScene(once(call("slow", {})))
  let begin = () => {}
  let finish = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const slow = defineTool({
    name: "slow",
    description: "It takes its time.",
    inputSchema: { type: "object" },
    effect: "none",
    run: () => {
      begin()
      return new Promise((resolve) => {
        finish = () => resolve("finished")
      })
    },
  })
  const runtime = scene.runtime({ tools: [slow] })
  const handle = runtime.stream({ task: "Go.", runId: "r" })
  await begun
  expect(handle.steer("Use the other door.")).toBe(true)
  finish()
  expect(await handle.result).toMatchObject({ status: "done", turns: 2 })
  expect(scene.requests).toHaveLength(2)
  expect(scene.requests[1]?.messages.filter(({ text }) => text === "Use the other door.")).toHaveLength(1)
  const steers = (await recordsOf(runtime, "r")).filter(({ type }) => type === "steer")
  expect(steers).toMatchObject([{ text: "Use the other door." }])
})

test("codex: a run that is interrupted while the model answers is cancelled, and can be resumed", async () => {
  let ask = () => {}
  const asked = new Promise<void>((resolve) => {
    ask = resolve
  })
  const scene = await createScene((_, index) => {
    if (index > 0) return "Done at last."
    ask()
    return new Promise(() => {})
  })
  const runtime = scene.runtime()
  const handle = runtime.stream({ task: "Go.", runId: "r" })
  await asked
  expect(handle.interrupt("immediate")).toBe(true)
  expect(await handle.result).toMatchObject({ status: "cancelled", error: { code: "cancelled" } })
  expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "done", text: "Done at last." })
})

test("codex: a run that is interrupted while a command runs is cancelled, and the command ends", async () => {
  const scene = await createScene(once(shell("echo begun >> begun.txt; sleep 600; echo ended >> ended.txt")))
  const handle = scene.runtime().stream({ task: "Go.", runId: "r" })
  await until(() => existsSync(join(scene.workspace, "begun.txt")))
  handle.interrupt("immediate")
  expect(await handle.result).toMatchObject({ status: "cancelled" })
  expect(scene.lines("ended.txt")).toEqual([])
})

test("codex: a graceful interrupt lets the command finish, and begins no further answer", async () => {
  const scene = await createScene(once(shell("echo begun >> begun.txt; sleep 1; echo ended >> ended.txt")))
  const handle = scene.runtime().stream({ task: "Go.", runId: "r" })
  await until(() => existsSync(join(scene.workspace, "begun.txt")))
  handle.interrupt("graceful")
  const result = await handle.result
  expect(result).toMatchObject({ status: "cancelled", toolCalls: [{ status: "ok" }] })
  expect(scene.lines("ended.txt")).toEqual(["ended"])
})

test("codex: a turn limit stops the run at the first call of the last turn, whose result no request could use", async () => {
  const scene = await createScene((_, index) => ({ parts: [shell(`echo ${index} >> ran.txt`)] }))
  const result = await scene.runtime().run({ task: "Go.", limits: { turns: 2 } })
  expect(result).toMatchObject({ status: "failed", error: { code: "max_turns" }, turns: 2 })
  expect(result.toolCalls.map(({ status }) => status)).toEqual(["ok", "denied"])
  expect(scene.lines("ran.txt")).toEqual(["0"])
})

test("codex: the model's text streams", async () => {
  const scene = await createScene(() => "A text of several deltas.")
  const handle = scene.runtime().stream({ task: "Go." })
  const deltas: string[] = []
  for await (const delta of handle.text()) deltas.push(delta)
  expect(deltas.join("")).toBe("A text of several deltas.")
  expect(deltas.length).toBeGreaterThan(1)
})

test("codex: the text of an interrupted answer is kept in the result", async () => {
  const scene = await createScene(() => "A text that is never finished.", [{ kind: "stall", atByte: 1800 }])
  const handle = scene.runtime().stream({ task: "Go." })
  for await (const delta of handle.text()) if (delta !== "") break
  handle.interrupt("immediate")
  const result = await handle.result
  expect(result.status).toBe("cancelled")
  expect("A text that is never finished.".startsWith(result.text) && result.text !== "").toBe(true)
})
