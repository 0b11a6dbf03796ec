/**
 * Checks that may be removed without a test failing, each with the reason:
 * - equivalent: what comes after it does the same, only slower or with more steps;
 * - logged: only a text for people changes;
 * - second: another check refuses the same; `path.test.ts "name"` is the test that covers both.
 */
export const survivors = [
  {
    file: "src/backends/native/ask.ts",
    check: "if (!this.#host.deltas) return",
    reason: "equivalent: a listener that wants no deltas is passed none; the check only saves the work of masking them",
  },
  {
    file: "src/policy/shell/xargs-command.ts",
    check: 'if (!placeholder?.isFixed) return reject("the placeholder of xargs is computed")',
    reason:
      "equivalent: a line with a computed option of xargs, or with -I alone, was rejected when its options were read",
  },
  {
    file: "src/journal/published.ts",
    check: 'if (record.type !== "tool-question") return record',
    reason: "equivalent: no other record has `state`, so that leaving it out copies the record as it is",
  },
  {
    file: "src/backends/shared/compaction/compactor.ts",
    check:
      'const change = part ? await this.#summarised(cause, part.cut, { turn, own, longest: part.longest }) : {}\n    if ("reason" in change) return change',
    reason: "equivalent: a stop is returned as it is, only after a size was computed",
  },
  {
    file: "src/journal/flush-lines.ts",
    check: "if (this.isEmpty) return",
    reason: "equivalent: the empty buffer would be kept as a spare one and grown when it is used, only slower",
  },
  {
    file: "src/journal/parts.ts",
    check: "if (opaque === undefined && origin === undefined) return part",
    reason: "equivalent: the copy without both is the part itself, only slower",
  },
  {
    file: "src/journal/row.ts",
    check: "if (base === null) return own",
    reason: "equivalent: without a base the loop below is not entered, and the only part is the head's own records",
  },
  {
    file: "src/backends/acp/tools.ts",
    check: "if (native === undefined) return undefined",
    reason: "equivalent: the names that `serverTool` returns never include undefined, so that no tool is found",
  },
  {
    file: "src/journal/inbox.ts",
    check: "if (folder.append && !(await folder.exists(name))) return null",
    reason: "equivalent: reading a file that is not there gives null, too, only slower",
  },
  {
    file: "src/policy/confine-call.ts",
    check: "if (read.length + write.length === 0) return undefined",
    reason: "equivalent: without paths the loop below refuses nothing",
  },
  {
    file: "src/policy/local.ts",
    check: 'if (verdict.decision !== "allow") return verdict',
    reason: "equivalent: a search can only be denied once more, and any other verdict is returned as it is",
  },
  {
    file: "src/policy/ask-person.ts",
    check: "if (!isJsonObject(given)) return undefined",
    reason: "equivalent: what is not an object has no known decision, and an exception counts as a failed callback",
  },
  {
    file: "src/policy/pipeline.ts",
    check: "if (signal?.aborted) return { decision: failed, reason: STOPPED }",
    reason: "logged: an aborted service has no verdict, which fails the same way with another text",
  },
  {
    file: "src/policy/pipeline.ts",
    check: "if (!isJsonObject(value)) return false",
    reason: "equivalent: an exception in the check counts as a verdict that is not understood",
  },
  {
    file: "src/policy/pipeline.ts",
    check: "if (asks.every(({ isFirm }) => isFirm)) return asks",
    reason: "equivalent: the filter below keeps all that are firm",
  },
  {
    file: "src/policy/rules/always-scope.ts",
    check: "if (command === undefined) return undefined",
    reason: "equivalent: a line that is missing cannot be read, so that it has no scope",
  },
  {
    file: "src/policy/rules/always-scope.ts",
    check: "if (command === undefined) return false",
    reason: "equivalent: a line that is missing cannot be read, so that no scope covers it",
  },
  {
    file: "src/policy/rules/translate-rule.ts",
    check: 'if (text.startsWith("//")) return { path: text.slice(1), isBare: false }',
    reason: "equivalent: the pattern below takes the first slash off, too",
  },
  {
    file: "src/policy/rules/pointer.ts",
    check: "if (inside === undefined) return undefined",
    reason: "equivalent: nothing is inside of undefined",
  },
  {
    file: "src/policy/rules/decide-in-rounds.ts",
    check: "if ((values.get(place) ?? text) !== text) return undefined",
    reason:
      'second: rules that disagree change the arguments in every round; src/policy/rules/compile-rules.test.ts "rules that change the same argument differently are denied"',
  },
  {
    file: "src/policy/rules/decide-in-rounds.ts",
    check: "if (reasons.length < 2) return reasons",
    reason: "equivalent: one reason is in order",
  },
  {
    file: "src/policy/rules/command-pattern.ts",
    check: "if (!reached.includes(true)) return false",
    reason: "equivalent: no place of the pattern is reached from none",
  },
  {
    file: "src/policy/rules/glob.ts",
    check: 'if (pattern === "*" || pattern === "**") return () => true',
    reason: "equivalent: the general form matches the same",
  },
  {
    file: "src/policy/rules/glob.ts",
    check: 'if (!pattern.includes("*")) return (name) => name === pattern',
    reason: "equivalent: the general form matches the same",
  },
  {
    file: "src/policy/rules/reach-step.ts",
    check: "if (places.length === 0) return false",
    reason: "equivalent: no folder is looked into",
  },
  {
    file: "src/policy/redact/line-spellings.ts",
    check: "if (hidden.length === 0) return plain",
    reason: "equivalent: the plain hits are in order and do not overlap",
  },
  {
    file: "src/run/calls/call-question.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the check as it stands in the file.
    check: 'if (issue !== undefined) throw new ToolError("invalid_input", `${name} cannot ask: ${issue}`)',
    reason:
      'second: state that is not JSON does not come back the same; src/run/calls/call-question.test.ts "with too much state, or with state that is not JSON, fails before the run pauses"',
  },
  {
    file: "src/policy/policies.ts",
    check: "if (sources.length === 0) return noRules",
    reason: "equivalent: rules of no source decide nothing, too, after loading what compiles them",
  },
  {
    file: "src/policy/rules/compile-rules.ts",
    check: "if (real === fixed) return pattern",
    reason: "equivalent: the resolved spelling is then that of the pattern itself",
  },
  {
    file: "src/policy/rules/decide-line.ts",
    check: "if (!concernsLines(rules, context)) return [stepFor(call.tool, rules.all, facts, context)]",
    reason: "equivalent: no rule concerns commands or what they open, so that no part of the line has a verdict",
  },
  {
    file: "src/policy/rules/reach-step.ts",
    check: "if (refusals === undefined) return false",
    reason: "equivalent: a rule that refuses a use has patterns, so that there are refusals",
  },
  {
    file: "src/policy/rules/reach-step.ts",
    check: "if (refuses(folder)) return true",
    reason:
      'second: the folder is an argument of the command, too; src/policy/rules/reach-lines.test.ts "a folder that a rule refuses is reached even if nothing can be seen in it"',
  },
  {
    file: "src/policy/rules/known-tools.ts",
    check:
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the check as it stands in the file.
      "if (uses instanceof Promise) throw new Error(`${tool} must declare at once what it can do without arguments.`)",
    reason: "equivalent: every known tool declares at once; the check is for the author of the next one",
  },
  {
    file: "src/run/calls/finish-open-calls.ts",
    check: "if (openCalls.length === 0) return undefined",
    reason: "equivalent: without open calls the loops below do nothing, and nothing is suspended",
  },
  {
    file: "src/run/calls/continue-asked.ts",
    check: "if (projected?.question === undefined) return notStarted(call)",
    reason: "equivalent: a call whose answer was recorded has its question in the journal, too",
  },
  {
    file: "src/run/calls/continue-asked.ts",
    check: "if (begun === undefined) return runner.record(call, denied(call, CHANGED))",
    reason:
      "equivalent: the call and its folder on record never change, so that one of its arguments has the digest of its intent",
  },
  {
    file: "src/run/calls/decide.ts",
    check: "if (final === undefined) return undefined",
    reason:
      'second: a call whose secrets this process does not have is refused when it begins, too; test/secrets-resume.test.ts "a call never runs with the masked text if the resuming process does not have the secret"',
  },
  {
    file: "src/run/calls/decide.ts",
    check: "if (rules === noRules) return env",
    reason: "equivalent: without rules nothing is restricted, only slower",
  },
  {
    file: "src/run/calls/decide.ts",
    check: "if (pipeline.allowsAtOnce(policy, seen.policyName, seen.risk ?? risk, seen.uses)) {",
    reason: "equivalent: the pipeline allows such calls, too, with more steps",
  },
]
