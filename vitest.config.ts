import { defineConfig } from "vitest/config"

const report = process.env.LONGHAUL_TEST_REPORT
const portable =
  "src/{backends,contract,extensions,journal,lib,observe,policy,providers,runtime,stores,testing,tools,webhooks}/**"

export default defineConfig({
  test: {
    testTimeout: 30_000,
    // Many tests wait for processes and timers: with as many workers as cores, the machine is idle for a third of the time.
    maxWorkers: 3,
    projects: [
      {
        // Tests of portable code share the loaded modules: loading them for each file takes as long as the tests.
        extends: true,
        test: { name: "portable", include: [`${portable}/*.test.ts`], isolate: false },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["{src,test}/**/*.test.ts"],
          exclude: [portable, "test/{machine,backends,enforce,extensions}/**"],
        },
      },
    ],
    ...(report && { reporters: ["default", "json"], outputFile: { json: report } }),
  },
})
