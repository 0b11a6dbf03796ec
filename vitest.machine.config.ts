import { defineConfig } from "vitest/config"

/** What needs a machine of its own: bubblewrap, strace, faketime, gigabytes of disk. CI runs it; `npm test` does not. */
export default defineConfig({
  test: {
    include: ["test/machine/**/*.test.ts"],
    testTimeout: 120_000,
    maxWorkers: 2,
  },
})
