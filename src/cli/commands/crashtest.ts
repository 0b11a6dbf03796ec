import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Command, commonOptions, noPositionals, numberOption, parseCommandLine, UsageError } from "../arguments.ts"
import type { CampaignReport } from "../crashtest/campaign.ts"
import { type ChildPlan, PLAN_VARIABLE } from "../crashtest/plan.ts"
import { columns } from "../crashtest/tally.ts"
import { counted } from "../format.ts"
import { interruptSignal } from "../interrupts.ts"
import { mayDraw, type Output } from "../output.ts"
import { liveScreen, plainScreen } from "../screen.ts"

const options = {
  kills: { type: "string", value: "<n>", help: "Number of processes to kill at random moments. Default: 100." },
  sample: { type: "string", value: "<n>", help: "Number of enumerated points to test, spread over all. Default: all." },
  store: {
    type: "string",
    value: "<where>",
    values: ["fs", "create-only"],
    help: "fs (default), create-only, or s3://bucket/prefix with AWS_* in the environment.",
  },
  tools: { type: "string", value: "<file>", help: "A .js file that exports your own tools and steps." },
  seed: { type: "string", value: "<n>", help: "Seed of the random numbers. Default: 1." },
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Kill a run at every moment, resume it, and count what was lost or done twice.",
  usage: "[options]",
  options,
  notes: [
    "Each run has its own process, which is killed before, during and after a write; other processes resume the run.",
    "The effects of its tools are recorded outside of the run. The folder of a run that fails a check is kept and printed.",
    "Exit codes: 0 nothing was lost or done twice, 1 something was, 2 usage error, 130 cancelled.",
  ],
  async run(args, output) {
    const plan = process.env[PLAN_VARIABLE]
    if (plan !== undefined) {
      const { runChild } = await import("../crashtest/child.ts")
      // Safe: the parent process, which is this program, wrote the plan.
      await runChild(JSON.parse(plan) as ChildPlan)
      return 0
    }
    const { values, positionals } = parseCommandLine("crashtest", args, options)
    noPositionals("crashtest", positionals)
    const program = process.argv[1]
    if (program === undefined)
      throw new UsageError("Cannot determine how this program was started.", "Start it by its path.")
    const whole = { from: 0, to: 1_000_000, whole: true }
    const kills = numberOption("kills", values.kills, whole) ?? 100
    const sample = numberOption("sample", values.sample, whole)
    const seed = numberOption("seed", values.seed, whole) ?? 1
    const { runCampaign } = await import("../crashtest/campaign.ts")
    const folder = mkdtempSync(join(tmpdir(), "longhaul-crashtest-"))
    const { signal, removeHandlers } = interruptSignal()
    const isLive = output.stderr.isTTY && mayDraw() && !values.json
    const screen = isLive ? liveScreen(output.stderr) : plainScreen(output.stderr)
    let keeps = false
    try {
      const report = await runCampaign({
        program,
        folder,
        store: values.store ?? "fs",
        tools: values.tools,
        kills,
        sample,
        seed,
        signal,
        progress: (done, planned) => screen.setStatus(() => `${done} of ${counted(planned, "kill")}`),
      })
      screen.close()
      if (values.json) output.printJson(report)
      else printReport(report, output)
      keeps = report.violations.length > 0
      if (signal.aborted) return 130
      return keeps ? 1 : 0
    } finally {
      screen.close()
      removeHandlers()
      if (!keeps) rmSync(folder, { recursive: true, force: true })
    }
  },
}

function printReport(report: CampaignReport, output: Output): void {
  const { store, seed, operations, points, rows, total, violations } = report
  const { colours } = output
  output.print(
    `store ${store}, seed ${seed}: ${operations} durable operations in a run, ${points} points to kill it at`,
  )
  output.print("")
  output.print(["      ", ...columns].join("  "))
  for (const row of [...rows, { kind: "all", ...total }]) {
    const cells = columns.map((column) => String(row[column]).padStart(column.length))
    output.print([row.kind.padEnd(6), ...cells].join("  "))
  }
  output.print("")
  for (const violation of violations.slice(0, MAX_SHOWN)) output.print(`${colours.red("✗")} ${violation}`)
  if (violations.length > MAX_SHOWN) output.print(`… and ${violations.length - MAX_SHOWN} more`)
  if (violations.length === 0) output.print(colours.green("Nothing was lost, nothing was done twice."))
}

const MAX_SHOWN = 20
