import { afterAll, afterEach } from "vitest"

/** Prints how many attacks of a kind a file tried, for `npm run prove`. Each test is one; `tried` adds further ones. */
export function countAttacks(kind: string): { tried(count: number): void } {
  let tried = 0
  let succeeded = 0
  afterEach(({ task }) => {
    tried++
    if (task.result?.state === "fail") succeeded++
  })
  afterAll(() => console.log(`${kind}: ${tried} tried, ${succeeded} succeeded`))
  return {
    tried(count) {
      tried += count
    },
  }
}
