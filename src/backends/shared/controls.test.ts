import { expect, test } from "vitest"
import { Controls } from "./controls.ts"

const one = { id: "1", text: "one" }
const two = { id: "2", text: "two" }

test("messages that arrive while a session works are taken once, in order", () => {
  const controls = new Controls()
  expect([controls.steer(one), controls.steer(two)]).toEqual([true, true])
  expect(controls.takeSteers(true)).toEqual([one, two])
  expect(controls.takeSteers(false)).toEqual([])
})

test("a session whose work is done accepts no further message, and stays closed", () => {
  const controls = new Controls()
  expect(controls.takeSteers(true)).toBe("closed")
  expect(controls.steer(two)).toBe(false)
  expect(controls.takeSteers(false)).toBe("closed")
})

test("a session that takes no more messages is not stopped: nothing is left to stop", () => {
  const controls = new Controls()
  controls.takeSteers(true)
  controls.interrupt("immediate")
  expect(controls.stopping).toBe(false)
})
