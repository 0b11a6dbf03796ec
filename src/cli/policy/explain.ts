import { homedir } from "node:os"
import { resolve } from "node:path"
import type { Json } from "../../contract/json.ts"
import type { PolicyCall } from "../../contract/policy.ts"
import { findPolicyFile, loadFoundPolicy, loadPolicyFile } from "../../hosts/node/policy/load-policy.ts"
import { resolvePath } from "../../hosts/node/policy/resolve-path.ts"
import { isJsonObject } from "../../lib/json.ts"
import { checkKeys } from "../../lib/known-keys.ts"
import { type CompiledRules, compileRules } from "../../policy/rules/compile-rules.ts"
import type { Step } from "../../policy/rules/step.ts"
import { onlyPositional, UsageError } from "../arguments.ts"
import { reasonOf, visible } from "../format.ts"
import type { Output } from "../output.ts"
import { shownRule } from "./shown-rule.ts"
import type { Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(argument, values, output) {
    const text = onlyPositional("policy explain", "call", argument === undefined ? [] : [argument])
    const call = parseCall(text, resolve(values.workspace ?? "."))
    const found = values.policy === undefined ? findPolicyFile(call.workspace) : undefined
    if (values.policy === undefined && found === undefined) {
      throw new UsageError("No policy file was found here or above.", "Name one with --policy <file>.")
    }
    const tools = values.tool ?? []
    const loaded =
      found === undefined
        ? await loadPolicyFile(values.policy ?? "", { tools })
        : await loadFoundPolicy(found, { tools })
    const rules = await compileRules(loaded.sources, { resolvePath, homeFolder: homedir(), tools })
    const { decision, steps } = await rules.explain(call)
    if (values.json) {
      output.printJson({
        policy: loaded.path,
        ignored: loaded.ignored,
        call,
        verdict: decision.verdict ?? null,
        via: decision.via ?? null,
        args: decision.args ?? call.args,
        reasons: decision.reasons.map((reason) => ({ ...reason, content: contentOf(rules, reason.rule) ?? null })),
        steps: steps.map(({ subject, verdict, reasons }) => ({ subject, verdict: verdict ?? null, reasons })),
      })
      return 0
    }
    output.print(`Policy   ${visible(loaded.path)}`)
    for (const setting of loaded.ignored) {
      output.print(`         ignored: ${visible(setting)}, since the file was found and not named`)
    }
    printCall(call, output)
    printDecision(rules, decision, steps, output)
    return 0
  },
}

type Decision = Awaited<ReturnType<CompiledRules["explain"]>>["decision"]

function printCall({ tool, args, workspace, cwd, agent, backend, sandboxed }: PolicyCall, output: Output): void {
  output.print(`Call     ${visible(tool)} ${visible(JSON.stringify(args))}`)
  const where = [`workspace ${workspace}`, ...(cwd === workspace ? [] : [`folder ${cwd}`])]
  const who = [
    `agent ${agent ?? "root"}`,
    `backend ${backend}`,
    sandboxed ? "in a required sandbox" : "no required sandbox",
  ]
  output.print(`         ${visible([...where, ...who].join(", "))}`)
}

function printDecision(rules: CompiledRules, decision: Decision, steps: readonly Step[], output: Output): void {
  const { colours } = output
  const { verdict, via, args, reasons } = decision
  const [first, ...others] = reasons
  output.print(
    `Verdict  ${colours.bold(verdict ?? "none: no rule applies and there is no default, so the risk tier decides")}${via === undefined ? "" : ` (${via})`}`,
  )
  if (first !== undefined) {
    output.print(
      `         because of ${visible(first.rule ?? (first.stage === "default" ? "the default" : "the command line"))}: ${visible(first.text)}`,
    )
    const content = contentOf(rules, first.rule)
    if (content !== undefined) output.print(`         ${shownRule(content)}`)
  }
  if (args !== undefined) output.print(`Runs as  ${visible(JSON.stringify(args))}`)
  if (steps.length > 1) {
    output.print("Parts    each is decided on its own, and the strictest decides")
    for (const step of steps) {
      const by = step.reasons[0]
      const why = by === undefined ? "no rule applies" : (by.rule ?? by.text)
      output.print(`         ${(step.verdict ?? "tier").padEnd(5)}  ${visible(step.subject)}  (${visible(why)})`)
    }
  }
  const more = others.filter(({ rule }) => rule !== undefined && rule !== first?.rule)
  const names = new Map(more.map((reason) => [reason.rule ?? "", reason]))
  if (names.size > 0) output.print("Also     these rules apply but do not decide")
  for (const [name, { verdict: other }] of names) {
    const content = contentOf(rules, name)
    output.print(
      `         ${other.padEnd(5)}  ${visible(name)}${content === undefined ? "" : `: ${shownRule(content)}`}`,
    )
  }
}

function contentOf(rules: CompiledRules, name: string | undefined) {
  return rules.all.find((each) => each.name === name)?.rule
}

const callKeys = ["tool", "args", "cwd", "workspace", "agent", "backend", "sandboxed"]
const advice = `Pass a call such as '{"tool":"Bash","args":{"command":"ls"}}'.`

function parseCall(text: string, folder: string): PolicyCall {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`The call is not JSON: ${reasonOf(error)}`, advice)
  }
  if (!isJsonObject(value)) throw new UsageError("The call is not an object.", advice)
  checkKeys("The call", value, callKeys)
  const { tool, args = {}, workspace = folder, cwd = workspace, agent, backend = "native", sandboxed = false } = value
  const texts: Readonly<Record<string, Json>> = { tool: tool ?? "", workspace, cwd, backend, agent: agent ?? "root" }
  for (const [name, each] of Object.entries(texts)) {
    if (typeof each !== "string" || each === "") throw new UsageError(`${name} of the call is not a string.`, advice)
  }
  return {
    tool: String(tool),
    args,
    workspace: resolve(folder, String(workspace)),
    cwd: resolve(folder, String(cwd)),
    backend: String(backend),
    ...(agent !== undefined && { agent: String(agent) }),
    sandboxed: sandboxed === true,
    callId: "explain",
    runId: "explain",
  }
}
