import { join } from "node:path"
import { defineConfig } from "vitest/config"
import { promiseTags } from "./test/support/promise-tags.ts"
import { WATCHDOG_MS } from "./test/support/watchdog.ts"

const reports = process.env.LONGHAUL_TEST_REPORTS
const portable =
  "src/{backends,contract,extensions,journal,lib,observe,policy,providers,run,runs,runtime,settings,stores,testing,tools,webhooks}/**"

/** What starts a process in nearly every test: half of the work. `npm test` has a sample, two files of the command line. */
const processes = [
  "src/cli/!(cli|crashtest).test.ts",
  "src/cli/*/**/*.test.ts",
  "test/*-{crash,kills,orphans,processes}.test.ts",
  "test/{cli-bucket,crashtest,docs,examples,mcp,races,release,s3-races,secrets-cli}.test.ts",
  "test/house/check-catches.test.ts",
]

export default defineConfig({
  test: {
    testTimeout: WATCHDOG_MS,
    hookTimeout: WATCHDOG_MS,
    setupFiles: "test/support/property-seed.ts",
    tags: promiseTags,
    // Many tests wait for processes and timers: with as many workers as cores, the machine is idle for a third of the time.
    maxWorkers: 3,
    projects: [
      {
        // Tests of portable code share the loaded modules: loading them for each file takes as long as the tests.
        extends: true,
        test: {
          name: "portable",
          include: [`${portable}/*.test.ts`],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["{src,test}/**/*.test.ts"],
          exclude: [portable, "test/{machine,backends,enforce,extensions}/**", ...processes],
        },
      },
      {
        extends: true,
        test: { name: "processes", include: processes, isolate: false },
      },
    ],
    ...(reports && { reporters: ["default", "json"], outputFile: { json: join(reports, `${process.pid}.json`) } }),
  },
})
