import { defineConfig } from "vitest/config"

const report = process.env.LONGHAUL_TEST_REPORT

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/machine/**", "test/backends/**", "test/enforce/**", "node_modules/**"],
    testTimeout: 30_000,
    maxWorkers: 2,
    ...(report && { reporters: ["default", "json"], outputFile: { json: report } }),
  },
})
