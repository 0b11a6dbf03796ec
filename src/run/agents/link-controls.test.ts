import { expect, test } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import { RunControls } from "../state/controls.ts"
import { linkControls } from "./link-controls.ts"

const lost = new LonghaulError("fenced", "Another process has the run.")

test.each([
  ["before", true],
  ["after", false],
])("an agent is lost with its run, and neither released nor cancelled: lost %s it was linked", (_, isBefore) => {
  const [above, below] = [new RunControls(), new RunControls()]
  if (isBefore) above.lose(lost)
  linkControls(above, below)
  if (!isBefore) above.lose(lost)
  expect(below.cause).toEqual({ kind: "lost", error: lost })
  expect(below.releasing).toBe(false)
  expect(below.signal.aborted).toBe(true)
})

test("an agent is released with its run, and goes on until its turn ends", () => {
  const [above, below] = [new RunControls(), new RunControls()]
  linkControls(above, below)
  above.release()
  expect([below.releasing, below.stopping, below.signal.aborted]).toEqual([true, false, false])
})

test("an agent is cancelled with its run, in the same mode", () => {
  const [above, below] = [new RunControls(), new RunControls()]
  linkControls(above, below)
  above.stop({ kind: "cancel" }, "graceful")
  expect([below.cause?.kind, below.stopping, below.signal.aborted]).toEqual(["cancel", true, false])
})
