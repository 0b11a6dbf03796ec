import type { FileEntry } from "../../contract/env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { PolicyCall, PolicyDocument, PolicyRule, PolicySource, Rules, RuleVerdict } from "../../contract/policy.ts"
import type { Capability, Risk, UsesOf } from "../../contract/tool.ts"
import { compileLinearPattern } from "../../lib/linear-pattern.ts"
import type { CommandLine } from "../shell/command-line.ts"
import { alwaysScopeOf, coversCall } from "./always-scope.ts"
import { checkDocument } from "./check-document.ts"
import { type CompiledRule, compileRule, isUnconditional, refusesPaths } from "./compile-rule.ts"
import { decideInRounds, type Explained } from "./decide-in-rounds.ts"
import { pathFinder, type ResolvePath } from "./find-paths.ts"
import { listOf } from "./glob.ts"
import { guardOf } from "./guard-paths.ts"
import { allCapabilities, knownTools } from "./known-tools.ts"
import { absolutePath } from "./path-pattern.ts"
import { refusalsOf } from "./path-refusals.ts"
import { presets } from "./presets.ts"
import { restrictingPart } from "./restrict.ts"
import { indexRules } from "./rule-index.ts"
import { type PolicyTestResult, refuseFailed, runTests } from "./run-tests.ts"
import type { DecisionContext } from "./step.ts"
import { compileTool, namesOf } from "./tool-names.ts"

export interface CompileOptions {
  /** Without it, paths are compared only as written: use it wherever there is a file system. */
  readonly resolvePath?: ResolvePath | undefined
  /** Without it, a command that reads everything below a folder is asked about wherever a rule could refuse something there. */
  readonly listFolder?: ((path: string) => Promise<readonly FileEntry[]>) | undefined
  /** For patterns that start with `~/`. */
  readonly homeFolder?: string | undefined
  /** Names of the host's own tools. */
  readonly tools?: readonly string[]
  /** Reads command lines. Default: `policy/shell/read-line.ts`, loaded with the first line. */
  readonly readLine?: (line: string) => CommandLine
}

/** Rules that can also show how they decide. */
export interface CompiledRules extends Rules {
  explain(call: PolicyCall): Promise<Explained>
  /** All rules, for people. */
  readonly all: readonly { readonly name: string; readonly rule: PolicyRule }[]
  readonly default: RuleVerdict | undefined
  readonly unparsed: PolicyDocument["unparsed"]
}

/**
 * The rules of all documents apply together. Other settings become the strictest that is given, so a document can add
 * permissions by rules only. Rejects with `config_invalid`, also if a test of a document fails.
 */
export async function compileRules(
  sources: readonly PolicySource[],
  options: CompileOptions = {},
): Promise<CompiledRules> {
  const { homeFolder, tools = [] } = options
  for (const { document, source } of sources) {
    await checkDocument(document, source, { tools, hasHomeFolder: homeFolder !== undefined })
  }
  refuseFailed(await testPolicy(sources, options))
  return compileChecked(sources, options)
}

/**
 * Runs the tests of each document with its rules and those of the documents before it. No file system is used, so that
 * the result is the same everywhere.
 */
export async function testPolicy(
  sources: readonly PolicySource[],
  { resolvePath: _, listFolder: __, ...options }: CompileOptions = {},
): Promise<readonly PolicyTestResult[]> {
  const results: PolicyTestResult[] = []
  for (const [index, { document, source }] of sources.entries()) {
    if (document.tests === undefined) continue
    const whole = sources.slice(0, index + 1).map((each) => ({ ...each, restrictsOnly: false }))
    const rules = await compileChecked(whole, options)
    results.push(...(await runTests(rules, document.tests, source)))
  }
  return results
}

async function compileChecked(sources: readonly PolicySource[], options: CompileOptions): Promise<CompiledRules> {
  const { resolvePath, homeFolder } = options
  const all = sources.flatMap(withPreset).map(applicable)
  const resolvePattern = (pattern: string) => realPattern(pattern, resolvePath, homeFolder)
  const named = all.flatMap(({ rules }) => rules)
  const rules = await Promise.all(
    named.map(({ name, rule }) => compileRule(rule, name, { homeFolder, resolvePattern })),
  )
  const context: DecisionContext = {
    rulesOf: indexRules(rules),
    refuses: rules.some(({ verdict }) => verdict !== "allow"),
    refusesPaths: rules.some(refusesPaths),
    default: strictest(all.map(({ settings }) => settings.default)),
    unparsed: strictestUnparsed(all.map(({ settings }) => settings.unparsed)),
    findPaths: pathFinder(resolvePath, homeFolder),
    readLine: lineReader(options.readLine),
    listFolder: options.listFolder,
  }
  const scan = await compileOutput(all)
  const hasOutput = (tool: string) => scan.rules.some((rule) => rule.isFor({ tool }))
  const allows = (tool: string, uses?: UsesOf) => {
    const isOwn = uses !== undefined && uses !== knownTools.get(tool)
    return allowedCalls(tool, isOwn ? undefined : allCapabilities.get(tool), rules.length > 0, context)
  }
  return {
    all: named,
    default: context.default,
    unparsed: context.unparsed,
    decide: async (call) => (await decideInRounds(call, context)).decision,
    explain: (call) => decideInRounds(call, context),
    allowsAtOnce: (tool, uses) => !hasOutput(tool) && allows(tool, uses) !== "sometimes",
    allowsAlways: (tool, uses) => allows(tool, uses) === "always",
    scansOutput: hasOutput,
    scan: scan.scan,
    guard: (call, ruled) => guardOf(context, call, ruled),
    refusals: (call, ruled) => refusalsOf(context, call, ruled),
    tier: tierFinder(all),
    alwaysScope: (call) => alwaysScopeOf(call, context.readLine),
    covers: (scope, call) => coversCall(scope, call, context.readLine),
  }
}

function withPreset(given: PolicySource): readonly PolicySource[] {
  const name = given.document.extends
  const preset = name === undefined || !Object.hasOwn(presets, name) ? undefined : presets[name]
  return preset === undefined ? [given] : [{ ...given, document: preset, source: `preset ${name}` }, given]
}

/** The rules and settings of a document that apply. */
interface Applicable {
  readonly source: string
  readonly rules: readonly { readonly name: string; readonly rule: PolicyRule }[]
  readonly settings: Pick<PolicyDocument, "default" | "unparsed" | "output" | "tiers">
}

function applicable({ document, source, restrictsOnly = false }: PolicySource): Applicable {
  const rules = (document.rules ?? []).map((rule, index) => ({ name: `rules[${index}] of ${source}`, rule }))
  if (!restrictsOnly) return { source, rules, settings: document }
  const { settings, keeps } = restrictingPart(document)
  return { source, rules: rules.filter(({ rule }) => keeps(rule)), settings }
}

/** Determines whether rules allow all calls of a tool, say nothing about any, or something else. `can`: all that they can do, if known. */
function allowedCalls(
  tool: string,
  can: readonly Capability[] | undefined,
  hasRules: boolean,
  context: DecisionContext,
): "always" | "never" | "sometimes" {
  const isConcerned = ({ condition }: CompiledRule) =>
    condition.can === undefined || can?.includes(condition.can) !== false
  const own = context.rulesOf({ tool, args: {} }).all.filter(isConcerned)
  const isPlain = own.every(({ verdict, changes }) => verdict === "allow" && changes.length === 0)
  // The words and redirects of a command line decide as well.
  const isLine = tool === "Bash" || own.some(({ condition }) => condition.commands !== undefined)
  if (!isPlain || (isLine && (hasRules || context.default !== undefined || context.unparsed !== undefined))) {
    return "sometimes"
  }
  if (context.default === "allow" || own.some(isUnconditional)) return "always"
  return context.default === undefined ? "never" : "sometimes"
}

async function compileOutput(all: readonly Applicable[]) {
  const compiled = all.flatMap(({ settings, source }) =>
    (settings.output ?? []).map(async ({ block, reason }, index) => {
      const names = listOf(block.tool).map(compileTool)
      return {
        isFor: (call: Pick<PolicyCall, "tool" | "isShell">) =>
          names.some((fits) => namesOf({ ...call, args: {} }, false).some((name) => fits(name))),
        pattern: await compileLinearPattern(block.pattern),
        reason: {
          stage: "output",
          verdict: "block",
          text: reason ?? "The output contains a text that the policy withholds.",
          rule: `output[${index}] of ${source}`,
        } as const,
      }
    }),
  )
  const rules = await Promise.all(compiled)
  const scan: Rules["scan"] = (call, output) =>
    rules.find(({ isFor, pattern }) => isFor(call) && pattern.test(output))?.reason
  return { rules, scan }
}

const risks: readonly Risk[] = ["low", "medium", "high"]

/** In each document a name precedes patterns; of several documents the highest tier counts. */
function tierFinder(all: readonly Applicable[]): Rules["tier"] {
  const tiers = all.map(({ settings }) =>
    Object.entries(settings.tiers ?? {}).map(([name, risk]) => ({ name, fits: compileTool(name), risk })),
  )
  return (tool) => {
    const found = tiers.flatMap((own) => {
      const named = own.filter(({ name }) => name === tool)
      return named.length > 0 ? named : own.filter(({ fits }) => fits(tool))
    })
    return found.length === 0 ? undefined : risks[Math.max(...found.map(({ risk }) => risks.indexOf(risk)))]
  }
}

function strictest(given: readonly (RuleVerdict | undefined)[]): RuleVerdict | undefined {
  return (["deny", "ask", "allow"] as const).find((verdict) => given.includes(verdict))
}

function strictestUnparsed(given: readonly PolicyDocument["unparsed"][]): PolicyDocument["unparsed"] {
  return (["deny", "ask", "sandboxed"] as const).find((verdict) => given.includes(verdict))
}

/** The parser is loaded with the first line. A failure of it makes the line unreadable. */
function lineReader(given: CompileOptions["readLine"]): DecisionContext["readLine"] {
  let read = given
  return async (line) => {
    try {
      read ??= (await import("../shell/read-line.ts")).readCommandLine
      return read(line)
    } catch (error) {
      const reason = LonghaulError.is(error) ? error.message : "the parser failed"
      return { isReadable: false, reason }
    }
  }
}

/** `/tmp/**` also means where `/tmp` leads: the resolved spelling of a path must match a permission too. */
async function realPattern(pattern: string, resolvePath: ResolvePath | undefined, homeFolder: string | undefined) {
  const expanded = pattern.startsWith("~/") && homeFolder !== undefined ? homeFolder + pattern.slice(1) : pattern
  if (resolvePath === undefined || !expanded.startsWith("/")) return pattern
  const parts = expanded.split("/")
  const end = parts.findIndex((part) => part.includes("*"))
  const fixed = absolutePath("/", parts.slice(0, end === -1 ? parts.length : end).join("/"))
  const real = await resolvePath(fixed).catch(() => fixed)
  if (real === fixed) return pattern
  return [real === "/" ? "" : real, ...(end === -1 ? [] : parts.slice(end))].join("/")
}
