import { homedir } from "node:os"
import { findPolicyFile, loadPolicyFile } from "../../hosts/node/policy/load-policy.ts"
import { testPolicy } from "../../policy/rules/compile-rules.ts"
import { UsageError } from "../arguments.ts"
import { counted, visible } from "../format.ts"
import type { Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(argument, values, output) {
    const file = argument ?? findPolicyFile(".")
    if (file === undefined) throw new UsageError("No policy file was found here or above.", "Name one.")
    if (argument === undefined && /\.[cm]?js$/.test(file)) {
      throw new UsageError(
        `${file} is a program and was not executed.`,
        `If you trust it: longhaul policy test ${file}`,
      )
    }
    const tools = values.tool ?? []
    const { sources } = await loadPolicyFile(file, { tools })
    const results = await testPolicy(sources, { homeFolder: homedir(), tools })
    const failed = results.filter(({ isPassed }) => !isPassed).length
    if (values.json) {
      const rows = results.map(({ name, test, verdict, isPassed }) => ({
        name,
        call: test.call,
        expected: test.expect,
        verdict: verdict ?? null,
        passed: isPassed,
      }))
      output.printJson({ file, results: rows, failed })
      return failed > 0 ? 1 : 0
    }
    const { colours } = output
    for (const { name, test, verdict, isPassed } of results) {
      const outcome = isPassed ? colours.green("passed") : colours.red("FAILED")
      const why = isPassed ? test.expect : `expected ${test.expect}, is ${verdict ?? "left to the risk tier"}`
      output.print(`${outcome}  ${visible(name)}: ${visible(JSON.stringify(test.call))} → ${why}`)
    }
    output.print(
      results.length === 0 ? `${visible(file)} has no tests.` : `${counted(results.length, "test")}, ${failed} failed.`,
    )
    return failed > 0 ? 1 : 0
  },
}
