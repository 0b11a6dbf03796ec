import { defineConfig } from "vitest/config"

const report = process.env.LONGHAUL_TEST_REPORT

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/machine/**", "test/backends/**", "test/enforce/**", "test/extensions/**", "node_modules/**"],
    testTimeout: 30_000,
    // Many tests wait for processes and timers: with as many workers as cores, the machine is idle for a third of the time.
    maxWorkers: 3,
    ...(report && { reporters: ["default", "json"], outputFile: { json: report } }),
  },
})
