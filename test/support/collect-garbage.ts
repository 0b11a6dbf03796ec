import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Collects everything that nothing refers to. What a weak reference has returned lives until the task ends: several rounds. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc")
  const collect: () => void = runInNewContext("gc")
  for (let round = 0; round < ROUNDS; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
}

const ROUNDS = 5
