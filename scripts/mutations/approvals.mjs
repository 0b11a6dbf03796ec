// Promises about approvals: for one execution of exactly the arguments that were shown, and never by accident.
import { mutation } from "./mutation.mjs"

const calls = "src/run/calls"
const rules = "src/policy/rules"
const attacks = (name) => ["test/approval-attacks.test.ts", name]
const replays = (name) => ["test/approval-replays.test.ts", name]
const scopes = (name) => ["test/approval-scopes.test.ts", name]
const approvals = (name) => ["test/promises/approvals.test.ts", name]
const crash = (name) => ["test/policy-crash.test.ts", name]

export const mutations = [
  mutation(
    "policy: a time limit approves",
    [
      [
        "src/policy/ask-person.ts",
        'const tooLate: ApprovalDecision = { decision: "deny", reason: "no decision was made in time" }',
        'const tooLate: ApprovalDecision = { decision: "approve" }',
      ],
    ],
    approvals("without a decision in time the call is denied"),
    replays("an approval given when the question was closed approves nothing"),
  ),
  mutation(
    "policy: a callback that throws approves",
    [
      [
        "src/policy/ask-person.ts",
        "  } catch {\n    return without(failed)",
        '  } catch {\n    return { decision: "approve" }',
      ],
    ],
    approvals("a callback that throws denies the call"),
  ),
  mutation(
    "policy: an unknown decision of a callback approves",
    [
      [
        "src/policy/ask-person.ts",
        'if (decision !== "approve" || whyNotJson(args ?? null, "args") !== undefined) return undefined\n  return { decision,',
        'if (whyNotJson(args ?? null, "args") !== undefined) return undefined\n  return { decision: "approve",',
      ],
    ],
    approvals("a callback that returns an unknown decision denies the call"),
  ),
  mutation(
    "policy: the arguments of a callback stay its own",
    [["src/policy/ask-person.ts", "&& { args: jsonCopy(args) }", "&& { args }"]],
    attacks("a callback that changes its own arguments after the approval changes nothing"),
  ),
  mutation(
    "policy: arguments that a person changed are not decided",
    [
      [
        calls,
        "const args = maskedArgs(run, call, changed)\n",
        'const args = changed\n  if (args !== null) return { kind: "allow", args }\n',
      ],
    ],
    scopes("a callback cannot approve arguments that a rule denies"),
    attacks("a rule that rewrites what a callback approved denies the call"),
  ),
  mutation(
    "policy: an approval precedes a policy that denies the call now",
    [
      [
        calls,
        'if (confirmed.kind === "deny") return runner.record(call, begun ?',
        "if (begun) return runner.record(call, begun ?",
      ],
    ],
    scopes("a policy that became stricter between two processes precedes an approval"),
  ),
  mutation(
    "policy: an approval is valid for what a rule makes of the call",
    [["src/run/calls/same-call.ts", "digestOf(run, { ...call, args }) === digestOf(run, call)", "args !== undefined"]],
    attacks("a rule that rewrites the approved arguments later makes the run ask again"),
  ),
  mutation(
    "policy: a started call keeps its approval",
    [
      [
        "src/journal/projection.ts",
        "if (this.ask?.request.callId === record.callId || isFor) this.ask = undefined",
        "",
      ],
    ],
    replays("an approval (via pause) is used up by the intent"),
    replays("an approval (via wait) is used up by the intent"),
  ),
  mutation(
    "policy: an approved repetition needs no intent",
    [[calls, 'changedBy("a reviewer", args) : { begun: false }', 'changedBy("a reviewer", args) : { begun }']],
    crash("a person is asked each time about a call that was repeated by a person and lost again"),
  ),
  mutation(
    "policy: an approval is valid for forks",
    [
      [
        "src/journal/projection.ts",
        "record.callId && !this.#isCopied(record)) this.ask.decision",
        "record.callId) this.ask.decision",
      ],
    ],
    replays("an approval that a fork copied (via pause) approves nothing in the fork"),
  ),
  mutation(
    "policy: the tickets of a run are valid for its forks",
    [
      [
        "src/runtime/manage-runs.ts",
        'if (record.type === "approval-request") return { ...record, ticket: newNonce() }\n',
        "",
      ],
    ],
    replays("the ticket of a run is stale for a fork of it"),
  ),
  mutation(
    "policy: a repeatable call is repeated with the arguments of the last decision",
    [["src/run/calls/same-call.ts", "digestOf(run, { name, args: each }) === intentDigest)", "each !== undefined)"]],
    attacks("a repeatable call is repeated as its intent says, not as an older decision did"),
  ),
  mutation(
    "policy: what a person changed is forgotten after the intent",
    [
      [
        "src/journal/projection.ts",
        "this.calls.decide(record)\n    this.calls.rewrite(record)\n",
        "this.calls.decide(record)\n",
      ],
    ],
    attacks("of two calls in a step, a repeatable one that a person edited is repeated as approved after a crash"),
  ),
  mutation(
    "policy: a repeatable call is repeated although the policy denies it now",
    [
      [calls, 'if (confirmed.kind === "deny") return runner.record(projected, unknown(projected))\n', ""],
      [calls, 'if (confirmed.kind !== "holds") return undefined', 'if (confirmed.kind === "ask") return undefined'],
    ],
    crash("a repeatable call that was lost after its intent is flagged as unknown if the policy denies now"),
  ),
  mutation(
    "policy: a started call that nobody approved is repeated although the policy now asks",
    [[calls, "return { isApproved: approvedDigest === digestOf(run, call) }", "return { isApproved: true }"]],
    ["src/run/durable.test.ts", "a `repeatable` call is not run again if the policy now asks about it"],
  ),
  mutation(
    "policy: the approval of a call does not count after a crash",
    [["src/journal/recent-calls.ts", 'record.decision === "approve" ? record.digest : undefined', "undefined"]],
    ["src/run/calls/call-question.test.ts", "is continued by its answer, without a second approval"],
    attacks("of two calls in a step, a repeatable one that a person edited is repeated as approved after a crash"),
  ),
  mutation(
    "policy: hooks receive the arguments that run",
    [[calls, "name, args: jsonCopy(args) }", "name, args }"]],
    attacks("a hook that changes the call it received does not change what runs"),
  ),
  mutation(
    "policy: always allows the bare program",
    [[rules, "if (!runsOthers.has(subcommand)) return 2", "if (!runsOthers.has(subcommand)) return 1"]],
    scopes("`git diff *` does not cover"),
    ["src/policy/rules/always-scope.test.ts", "an `always` for"],
  ),
  mutation(
    "policy: always covers the other commands of a line",
    [
      [
        rules,
        "line.commands.every((each) => pattern.permits(wordsOf(each)))",
        "line.commands.some((each) => pattern.permits(wordsOf(each)))",
      ],
    ],
    scopes("`git diff *` does not cover"),
  ),
  mutation(
    "policy: always covers redirects",
    [
      [
        rules,
        'return line.redirects.every(({ target }) => target.isFixed && target.text === "/dev/null")',
        "return true",
      ],
    ],
    scopes("`git diff *` does not cover"),
  ),
  mutation(
    "policy: always covers every tool",
    [[rules, "if (scope.tool !== call.tool) return false", ""]],
    scopes("an `always` covers no other tool with the same arguments"),
  ),
  mutation(
    "approvals: a decision about a call counts for another tool",
    [["src/run/calls/decide.ts", '[name, args, cwd, "inexact"]', '[args, cwd, "inexact"]']],
    ["src/run/calls/decide.test.ts", "a decision is valid for one tool"],
  ),
  mutation(
    "approvals: a person is asked about a call that the policy denies",
    [["src/run/calls/decide.ts", 'if (ruled.kind === "deny") return ruled\n  const question', "const question"]],
    ["src/run/calls/decide.test.ts", "a call that the policy denies stays denied"],
  ),
  mutation(
    "approvals: a call that cannot run is asked about",
    [["src/run/calls/decide.ts", "tool === undefined || call.invalid !== undefined", "tool === undefined"]],
    ["src/run/calls/decide.test.ts", "a call that cannot run is answered"],
  ),
]
