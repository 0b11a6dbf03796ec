import { defineConfig } from "vitest/config"
import { promiseTags } from "./test/support/promise-tags.ts"
import { WATCHDOG_MS } from "./test/support/watchdog.ts"

/** What needs hundreds of megabytes of other people's programs: `scripts/test-backends.mjs` installs them first. */
export default defineConfig({
  test: {
    include: ["test/backends/**/*.test.ts"],
    // It writes scenes and compares nothing.
    exclude: process.env.LONGHAUL_RECORD ? [] : ["test/backends/recording.test.ts"],
    tags: promiseTags,
    testTimeout: WATCHDOG_MS,
    hookTimeout: WATCHDOG_MS,
    // One at a time: each of these programs wants a machine for itself.
    fileParallelism: false,
  },
})
