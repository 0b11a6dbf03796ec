import { defineConfig } from "vitest/config"
import { promiseTags } from "./test/support/promise-tags.ts"
import { WATCHDOG_MS } from "./test/support/watchdog.ts"

/** Our adapters in the real agent frameworks: `scripts/test-enforce.mjs` installs them first. */
export default defineConfig({
  test: {
    include: ["test/enforce/**/*.test.ts"],
    globalSetup: ["test/enforce/install-package.ts"],
    tags: promiseTags,
    testTimeout: WATCHDOG_MS,
    hookTimeout: WATCHDOG_MS,
    // One at a time: Claude Code alone keeps a small machine busy.
    fileParallelism: false,
  },
})
