import fc from "fast-check"
import { expect, test } from "vitest"
import { policyCall } from "../../../test/support/policy-scene.ts"
import type { PolicyRule, RuleVerdict } from "../../contract/policy.ts"
import { readCommandLine } from "../shell/read-line.ts"
import { compileCommand, wordsOf } from "./command-pattern.ts"
import { compileRules } from "./compile-rules.ts"
import { strictness } from "./step.ts"

const verdicts = ["allow", "ask", "deny"] as const
const patterns = [
  "git status",
  "git *",
  "git push ** -f **",
  "/bin/rm *",
  "rm -rf **",
  "* --version",
  "ls",
  "npm run *",
]
const commands = [
  "git status",
  "git push -f",
  "git push origin -uf",
  "rm -fr x",
  "/bin/rm x",
  "RM x",
  "ls $X",
  "npm run a",
  "ls --version",
  "X=1 ls",
]
const paths = ["src/**", "**/.env", "/etc/**", "*.md", "**"]
const files = ["src/a.ts", "src/../.env", ".ENV", "/etc/passwd", "README.md", "../x"]

const verdict = fc.constantFrom(...verdicts)
const lists = (items: readonly string[]) => fc.subarray([...items], { minLength: 1 })
const ruleOf = (given: RuleVerdict, matcher: object): PolicyRule => ({ [given]: matcher })
const commandRule = fc
  .tuple(verdict, lists(patterns))
  .map(([given, command]) => ruleOf(given, { tool: "Bash", command }))
const pathRule = fc
  .tuple(verdict, lists(paths))
  .map(([given, path]) => ruleOf(given, { tool: ["Read", "Write"], path }))
const rules = fc.array(fc.oneof(commandRule, pathRule), { maxLength: 6 })
const line = fc.array(fc.constantFrom(...commands), { minLength: 1, maxLength: 4 }).map((each) => each.join(" && "))
const call = fc.oneof(
  line.map((command) => policyCall("Bash", { command })),
  fc.constantFrom(...files).map((path) => policyCall("Read", { path })),
  fc.constantFrom(...files).map((path) => policyCall("Bash", { command: `ls > ${path}` })),
)
const fallback = fc.option(verdict, { nil: undefined })

/** Each rule is a document of its own: within one, a rule that can never decide would be refused. */
async function decided(
  list: readonly PolicyRule[],
  given: RuleVerdict | undefined,
  called: ReturnType<typeof policyCall>,
) {
  const sources = list.map((rule, index) => ({ document: { rules: [rule] }, source: `${index}` }))
  const base = { document: given === undefined ? {} : { default: given }, source: "base" }
  const compiled = await compileRules([base, ...sources])
  return (await compiled.decide(called)).verdict
}

test("the order of rules changes no verdict", async () => {
  await fc.assert(
    fc.asyncProperty(rules, fallback, call, async (list, given, called) => {
      expect(await decided(list.toReversed(), given, called)).toBe(await decided(list, given, called))
    }),
    { numRuns: 200 },
  )
})

test("a further refusal never makes a verdict weaker", async () => {
  const refusal = fc.oneof(commandRule, pathRule).filter((rule) => rule.deny !== undefined)
  await fc.assert(
    fc.asyncProperty(rules, refusal, fallback, call, async (list, rule, given, called) => {
      const before = await decided(list, given, called)
      const after = await decided([...list, rule], given, called)
      expect(strictness(after)).toBeGreaterThanOrEqual(strictness(before))
    }),
    { numRuns: 300 },
  )
})

test("a command is decided as if every rule were compared with it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(commandRule, { maxLength: 8 }), fallback, line, async (list, given, text) => {
      const read = readCommandLine(text)
      if (!read.isReadable) return
      const each = read.commands.map((command) => {
        const words = wordsOf(command)
        const matching = list.flatMap((rule) => {
          const [kind] = verdicts.filter((name) => rule[name] !== undefined)
          const own = [kind === undefined ? [] : (rule[kind]?.command ?? [])].flat().map((each) => compileCommand(each))
          const applies = own.some((pattern) => (kind === "allow" ? pattern.permits(words) : pattern.refuses(words)))
          return applies && kind !== undefined ? [kind] : []
        })
        const found = matching.length === 0 ? given : verdicts.findLast((name) => matching.includes(name))
        return found === "allow" && command.variables.length > 0 ? "ask" : found
      })
      const expected = each.reduce((left, right) => (strictness(right) > strictness(left) ? right : left))
      const hasRules = list.length > 0 || given !== undefined
      expect(await decided(list, given, policyCall("Bash", { command: text }))).toBe(hasRules ? expected : undefined)
    }),
    { numRuns: 300 },
  )
})
