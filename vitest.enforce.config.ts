import { defineConfig } from "vitest/config"

/** Our adapters in the real agent frameworks: `scripts/test-enforce.mjs` installs them first. */
export default defineConfig({
  test: {
    include: ["test/enforce/**/*.test.ts"],
    globalSetup: ["test/enforce/install-package.ts"],
    testTimeout: 120_000,
    // One at a time: Claude Code alone keeps a small machine busy.
    fileParallelism: false,
  },
})
