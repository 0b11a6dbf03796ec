import { defineConfig } from "vitest/config"
import { promiseTags } from "./test/support/promise-tags.ts"
import { WATCHDOG_MS } from "./test/support/watchdog.ts"

/** Real MCP servers, suites and authorization servers of others, installed by scripts/test-extensions.mjs. */
export default defineConfig({
  test: {
    include: ["test/extensions/**/*.test.ts"],
    tags: promiseTags,
    testTimeout: WATCHDOG_MS,
    hookTimeout: WATCHDOG_MS,
    fileParallelism: false,
  },
})
