/** Ends a test that hangs. Far above what any test takes, so that no test fails because the machine is busy. */
export const WATCHDOG_MS = 300_000

/** For what has to end before the test does, so that it can still say what it waited for. */
export const PATIENCE_MS = WATCHDOG_MS - 30_000

/** Resolves once `isTrue` returns true, however long that takes: a wait in vain ends with the test's watchdog. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => realTimer(resolve, 5))
}

/** Resolves in a later millisecond of the clock: what is stamped afterwards comes after what was stamped before. */
export async function laterMillisecond(): Promise<void> {
  const now = Date.now()
  await until(() => Date.now() > now)
}

/** Taken when the module loads, so that tests with fake timers can wait, too. */
const realTimer = setTimeout
