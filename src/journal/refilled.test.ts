import { expect, test } from "vitest"
import { Refilled } from "./refilled.ts"

test("a refilled buffer returns everything added since the last time, and the returned value stays unchanged", () => {
  const list = new Refilled<number>()
  const taken: number[][] = []
  for (const count of [3, 0, 1, 40, 2]) {
    for (let index = 0; index < count; index++) list.push(count * 100 + index)
    expect(list.length).toBe(count)
    taken.push(list.take())
    expect(list.length).toBe(0)
  }
  expect(taken.map(({ length }) => length)).toEqual([3, 0, 1, 40, 2])
  expect(taken[0]).toEqual([300, 301, 302])
  expect(taken[4]).toEqual([200, 201])
})
