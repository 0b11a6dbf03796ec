import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { until } from "../../../test/support/watchdog.ts"
import { isDead, processOwner } from "./owner.ts"

const self = processOwner()

test("the own process is not dead, on a local or a shared store", () => {
  expect(isDead(self, true)).toBe(false)
  expect(isDead(self, false)).toBe(false)
})

test("a process of this boot whose pid is free, or has another start time, is dead on every store", () => {
  for (const isLocal of [true, false]) {
    expect(isDead({ ...self, pid: 2 ** 23 }, isLocal)).toBe(true)
    expect(isDead({ ...self, started: 1 }, isLocal)).toBe(true)
  }
})

test("a process of another boot is dead on a local store and unknown on a shared one", () => {
  expect(isDead({ ...self, boot: "other" }, true)).toBe(true)
  expect(isDead({ ...self, boot: "other" }, false)).toBe(false)
})

test("a process of another pid namespace of this boot is unknown on every store", () => {
  expect(isDead({ ...self, pidns: "pid:[1]", pid: 2 ** 23 }, true)).toBe(false)
  expect(isDead({ ...self, pidns: "pid:[1]", pid: 2 ** 23 }, false)).toBe(false)
})

test("an owner without a boot id or process is unknown to a process with a boot id", () => {
  for (const isLocal of [true, false]) {
    expect(isDead({ pid: 2 ** 23 }, isLocal)).toBe(false)
    expect(isDead({ name: "worker" }, isLocal)).toBe(false)
  }
})

test("a zombie process is dead", async () => {
  // The shell becomes a program that never waits for the child that the shell started.
  const parent = spawn("sh", ["-c", "sleep 0.05 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] })
  try {
    const [line] = (await once(parent.stdout, "data")) as [Buffer]
    const pid = Number(line.toString())
    const stat = () => {
      const text = readFileSync(`/proc/${pid}/stat`, "utf8")
      return text.slice(text.lastIndexOf(")") + 2).split(" ")
    }
    const owner = { ...self, pid, started: Number(stat()[19]) }
    await until(() => stat()[0] === "Z")
    expect(isDead(owner, true)).toBe(true)
    expect(isDead(owner, false)).toBe(true)
  } finally {
    parent.kill("SIGKILL")
  }
})
