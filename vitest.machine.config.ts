import { defineConfig } from "vitest/config"
import { promiseTags } from "./test/support/promise-tags.ts"
import { WATCHDOG_MS } from "./test/support/watchdog.ts"

/** What needs a machine of its own: bubblewrap, strace, faketime, gigabytes of disk. CI runs it; `npm test` does not. */
export default defineConfig({
  test: {
    include: ["test/machine/**/*.test.ts"],
    tags: promiseTags,
    testTimeout: WATCHDOG_MS,
    hookTimeout: WATCHDOG_MS,
    maxWorkers: 2,
  },
})
