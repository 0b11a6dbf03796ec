import { defineConfig } from "vitest/config"

/** Real MCP servers, suites and authorization servers of others, installed by scripts/test-extensions.mjs. */
export default defineConfig({
  test: {
    include: ["test/extensions/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
})
