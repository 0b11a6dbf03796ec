import type { Capabilities } from "../../contract/capabilities.ts"
import type { BackendStatus } from "../../contract/runtime.ts"
import { type Command, commonOptions, noPositionals, parseCommandLine } from "../arguments.ts"
import { clip, visible } from "../format.ts"
import type { Output } from "../output.ts"

export const command: Command = {
  summary: "List the backends that can run agents, and whether each works on this machine.",
  usage: "[options]",
  options: commonOptions,
  notes: [
    "Programs are asked for their version and login; no session is started and no model is called.",
    "Use one with: run --backend <name>, or resume <runId> --backend <name>.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("backends", args, commonOptions)
    noPositionals("backends", positionals)
    const { createRuntime } = await import("../../hosts/node/index.ts")
    const runtime = createRuntime({ tools: [] })
    const found = await Promise.all(
      (await runtime.backends()).map(async (status) => ({
        ...status,
        capabilities: await runtime.capabilities(status.name),
      })),
    )
    await runtime.close()
    if (values.json) output.printJson({ backends: found })
    else for (const each of found) printBackend(each, output)
    return 0
  },
}

type Listed = BackendStatus & { readonly capabilities: Capabilities }

function printBackend({ name, found, version, login, failure, capabilities }: Listed, output: Output): void {
  const { colours } = output
  const sign = !found ? colours.dim("–") : login === "no" ? colours.yellow("!") : colours.green("✓")
  const state = found ? [version, loginWords[login]].filter((word) => word).join(", ") : "not installed"
  output.print(`${sign} ${name.padEnd(14)}${visible(state)}`)
  if (found) output.print(colours.dim(`  ${"".padEnd(14)}${gateOf(capabilities)}; ${capabilities.features.join(", ")}`))
  if (failure?.fix !== undefined) output.print(`  ${"".padEnd(14)}${colours.cyan("fix:")} ${clip(failure.fix, 200)}`)
}

const loginWords: Readonly<Record<Listed["login"], string>> = { yes: "logged in", no: "not logged in", unknown: "" }

function gateOf({ enforcement }: Capabilities): string {
  const all = enforcement.every(({ gate, failsClosed }) => gate === "ours" && failsClosed)
  if (all) return "the policy decides every call"
  const others = enforcement.filter(({ gate }) => gate !== "ours").map(({ tools }) => tools)
  return `the policy decides all calls but those of ${others.join(", ")}`
}
