import { type CommandWords, programName } from "./command-pattern.ts"
import { type CompiledRule, isForTool, refusesUse } from "./compile-rule.ts"
import { type NamedCall, namesOf } from "./tool-names.ts"

/** The rules that can apply to calls of one tool. */
export interface ToolRules {
  readonly all: readonly CompiledRule[]
  /** The rules that refuse to read paths, to the tool or to Read. */
  readonly hiding: readonly CompiledRule[]
  /** Some rule compares paths. */
  readonly usesPath: boolean
  /** Some rule compares commands. */
  readonly usesCommand: boolean
  /** Some rule can apply to a command. */
  readonly concernsCommands: boolean
  /** The rules that can apply to one command: those for its program, and those without a fixed program. */
  forCommand(command: CommandWords): readonly CompiledRule[]
}

/** Finds the rules for a call. The result is kept for its names. */
export function indexRules(rules: readonly CompiledRule[]): (call: NamedCall) => ToolRules {
  const known = new Map<string, ToolRules>()
  return (call) => {
    const key = namesOf(call, false).join("\0")
    let found = known.get(key)
    if (found === undefined) {
      // A model may make up names.
      if (known.size === mostTools) known.clear()
      const own = rules.filter((rule) => isForTool(rule, call))
      const hiding = rules.filter(
        (rule) => refusesUse(rule, "read") && (own.includes(rule) || isForTool(rule, reading)),
      )
      found = toolRules(own, hiding)
      known.set(key, found)
    }
    return found
  }
}

const mostTools = 1000
const reading: NamedCall = { tool: "Read", args: {} }

function toolRules(all: readonly CompiledRule[], hiding: readonly CompiledRule[]): ToolRules {
  const general: CompiledRule[] = []
  const byProgram = new Map<string, CompiledRule[]>()
  for (const rule of all) {
    // A command may use other paths than those that it names: only refusals compare them.
    if (rule.verdict === "allow" && rule.usesPath) continue
    const programs = rule.condition.commands?.map(({ program }) => program) ?? [undefined]
    if (programs.includes(undefined)) {
      general.push(rule)
      continue
    }
    for (const program of new Set(programs.map((each) => programName(each ?? "")))) {
      const same = byProgram.get(program)
      if (same === undefined) byProgram.set(program, [rule])
      else same.push(rule)
    }
  }
  const joined = new Map(Array.from(byProgram, ([program, rules]) => [program, [...general, ...rules]]))
  return {
    all,
    hiding,
    usesPath: all.some(({ usesPath }) => usesPath),
    usesCommand: all.some(({ condition }) => condition.commands !== undefined),
    concernsCommands: all.some(({ verdict, usesPath, condition }) => {
      return condition.can !== "fetch" && !(verdict === "allow" && usesPath)
    }),
    forCommand: ({ spellings }) => joined.get(spellings[0]?.words[0]?.text ?? "") ?? general,
  }
}
