import { type CommandWords, programName } from "./command-pattern.ts"
import { type CompiledRule, isForTool, refusesPaths } from "./compile-rule.ts"

/** The rules that can apply to calls of one tool. */
export interface ToolRules {
  readonly all: readonly CompiledRule[]
  /** Those that refuse paths to the tool or to Read. */
  readonly hiding: readonly CompiledRule[]
  /** Some rule compares paths. */
  readonly usesPath: boolean
  /** Some rule compares commands. */
  readonly usesCommand: boolean
  /** The rules that can apply to one command: those for its program, and those without a fixed program. */
  forCommand(command: CommandWords): readonly CompiledRule[]
}

/** Finds the rules of a tool. The result is kept for each tool. */
export function indexRules(rules: readonly CompiledRule[]): (tool: string) => ToolRules {
  const known = new Map<string, ToolRules>()
  return (tool) => {
    let found = known.get(tool)
    if (found === undefined) {
      // A model may make up names.
      if (known.size === mostTools) known.clear()
      const own = rules.filter((rule) => isForTool(rule, tool))
      const hiding = rules.filter((rule) => refusesPaths(rule) && (own.includes(rule) || isForTool(rule, "Read")))
      found = toolRules(own, hiding)
      known.set(tool, found)
    }
    return found
  }
}

const mostTools = 1000

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
    forCommand: ({ spellings }) => joined.get(spellings[0]?.words[0]?.text ?? "") ?? general,
  }
}
