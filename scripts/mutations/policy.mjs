// Promises of the policy: a refusal dominates, a failure denies, outputs are scanned, what was found only restricts.
import { mutation } from "./mutation.mjs"

const pipeline = "src/policy/pipeline.ts"
const calls = "src/run/calls"
const rules = "src/policy/rules"
const service = "src/policy/service"
const attacks = (name) => ["test/approval-attacks.test.ts", name]
const scopes = (name) => ["test/approval-scopes.test.ts", name]
const approvals = (name) => ["test/promises/approvals.test.ts", name]
const faults = (name) => ["test/policy-faults.test.ts", name]
const output = (name) => ["test/policy-output.test.ts", name]
const early = (name) => ["test/policy-early-starts.test.ts", name]
const found = (name) => ["test/policy-found.test.ts", name]
const runtime = (name) => ["test/policy-runtime.test.ts", name]
const client = (name) => ["test/policy-service.test.ts", name]
const search = (name) => ["src/policy/search-below.test.ts", name]
const imports = (name) => ["src/policy/rules/import-settings.test.ts", name]
const commands = (name) => ["src/policy/rules/command-rules.test.ts", name]
const links = (name) => ["test/link-attacks.test.ts", name]
const words = (name) => ["test/capability-attacks.test.ts", name]
const guards = (name) => ["src/hosts/node/files/files-guard.test.ts", name]
const files = "src/hosts/node/files"
const table = ["test/policy-table.test.ts", "a decision is the one of the guide for every mode"]

export const mutations = [
  mutation(
    "policy: a deny rule does not dominate",
    [[pipeline, 'if (ruled.verdict === "deny") return', 'if (ruled.verdict === "ask") return']],
    table,
    scopes("a service that allows does not outvote a deny rule"),
  ),
  mutation(
    "policy: a denial of a service is only a question",
    [[pipeline, 'if (verdict.decision !== "ask") return', 'if (verdict.decision === "block") return']],
    table,
    scopes("a rule that allows does not outvote a service that denies"),
  ),
  mutation(
    "policy: only the first service is asked",
    [
      [
        pipeline,
        "if (verdict.args === undefined || canonicalJson(verdict.args) === canonicalJson(args)) continue",
        "break",
      ],
    ],
    scopes("a service that allows does not outvote another that denies"),
  ),
  mutation(
    "policy: the allow-list answers the question of a rule",
    [[pipeline, 'isFirm: stage !== "default"', "isFirm: false"]],
    table,
    scopes("a pre-approval does not answer an ask rule"),
  ),
  mutation(
    "policy: the allow-list answers the question of a service",
    [[pipeline, "asks.push({ text: given.text, isFirm: true })", "asks.push({ text: given.text, isFirm: false })"]],
    table,
    scopes("a pre-approval does not answer a service that asks"),
  ),
  mutation(
    "policy: mode auto also answers rules and services",
    [[pipeline, "const open = facts.isApproved ?", 'const open = facts.isApproved || policy.mode === "auto" ?']],
    scopes("mode auto does not answer an ask rule"),
  ),
  mutation(
    "policy: mode deny asks",
    [[pipeline, 'if (policy.mode === "deny") return', 'if (policy.mode === "auto") return']],
    approvals("mode auto asks no approver, mode deny refuses what would ask"),
  ),
  mutation(
    "policy: a high-risk call runs without an approver",
    [
      [
        pipeline,
        "if (via === undefined) return denied(",
        'if (via === undefined) return { verdict: "allow", args, reasons }\n  if (via === undefined) return denied(',
      ],
    ],
    approvals("a high-risk call is denied without an approver"),
  ),
  mutation(
    "policy: rules that fail allow the call",
    [
      [
        "src/policy/rule-decision.ts",
        'return { verdict: "deny", reasons: [{ stage: "rule", verdict: "deny", text: FAILED }] }',
        'return { verdict: "allow", reasons: [] }',
      ],
    ],
    ["src/policy/pipeline.test.ts", "rules that fail deny the call"],
  ),
  mutation(
    "policy: a service that fails allows the call",
    [[pipeline, "return { decision: failed, reason: FAILED }", 'return { decision: "allow" }']],
    table,
    scopes("a service that throws at once"),
    output("a service that rejects about an output withholds it"),
  ),
  mutation(
    "policy: an unknown verdict of a service is taken as it is",
    [
      [
        pipeline,
        'return (decision === "deny" || decision === "ask" || decision === "block") && typeof reason === "string"',
        "return reason === undefined",
      ],
      [pipeline, 'if (verdict.decision === "allow") {', 'if (verdict.decision !== "deny") {'],
    ],
    scopes("a service with an unknown verdict"),
  ),
  mutation(
    "policy: rules do not decide what a service rewrote",
    [[pipeline, "    args = served.args\n  }", "    return { args: served.args, reasons, asks: [] }\n  }"]],
    scopes("a service cannot rewrite a call into one that a rule denies"),
  ),
  mutation(
    "policy: services may rewrite for ever, and the last one wins",
    [[pipeline, "asks: [], denied: unstable, ruled:", "asks: [], ruled:"]],
    scopes("two services that rewrite in turn end in a denial"),
  ),
  mutation(
    "policy: a service receives the arguments that run",
    [[pipeline, "return { ...call, args: jsonCopy(call.args), digest", "return { ...call, digest"]],
    attacks("a service that changes the call it received does not change what runs"),
  ),
  mutation(
    "policy: a tool with an output rule is allowed at once",
    [[rules, "allowsAtOnce: (tool, uses) => !hasOutput(tool) && allows(", "allowsAtOnce: (tool, uses) => allows("]],
    early("an output rule for one tool delays that tool only"),
  ),
  mutation(
    "policy: any rule prevents the early start of every tool",
    [
      [
        rules,
        "const own = context.rulesOf({ tool, args: {} }).all",
        "if (hasRules) return 'sometimes'\n  const own = context.rulesOf({ tool, args: {} }).all",
      ],
    ],
    early("a tool that the policy allows at once by a deny rule for another tool"),
  ),
  mutation(
    "policy: a tool starts early beside a policy service",
    [
      [
        pipeline,
        "if (services.length > 0 || !rules.allowsAtOnce(tool, uses)) return false",
        "if (!rules.allowsAtOnce(tool, uses)) return false",
      ],
    ],
    early("a policy service decides about every tool before it starts"),
  ),
  mutation(
    "policy: the output of a call that failed is not scanned",
    [
      [
        calls,
        "const text = plainText(outcome.output",
        'if (outcome.status !== "ok") return outcome\n    const text = plainText(outcome.output',
      ],
    ],
    runtime("an output that a rule blocks reaches neither the model nor the journal, also from a tool that fails"),
    faults("passes on nothing of its output"),
  ),
  mutation(
    "policy: a long output is saved before it is scanned",
    [[calls, "return this.#blocked ? null : ((await", "return ((await"]],
    output("a long output is scanned by a rule before it is cut"),
  ),
  mutation(
    "policy: only what is left of a long output is scanned",
    [[calls, "this.#blocked ?? (await this.#scan", "(await this.#scan"]],
    output("a long output is scanned by a rule before it is cut"),
  ),
  mutation(
    "policy: progress is shown before the output is scanned",
    [[calls, "const quiet = { ...context, progress: () => {} }", "const quiet = context"]],
    output("the progress of a tool whose output is scanned by a rule is not published"),
  ),
  mutation(
    "policy: services do not scan outputs",
    [[calls, "return services.length > 0 || rules.scansOutput(", "return rules.scansOutput("]],
    faults("passes on nothing of its output"),
  ),
  mutation(
    "policy: a found file may allow",
    [
      [
        rules,
        "const keeps = (rule: PolicyRule) => rule.allow === undefined && rule.set === undefined",
        "const keeps = (_rule: PolicyRule) => true",
      ],
    ],
    found("permits nothing by an allow rule"),
    found("rewrites nothing"),
  ),
  mutation(
    "policy: a found file may allow by default",
    [[rules, 'rest.default !== undefined && rest.default !== "allow" && {', "rest.default !== undefined && {"]],
    found("permits nothing by a default that allows"),
  ),
  mutation(
    "policy: a found file may lower a tier",
    [[rules, 'filter(([, risk]) => risk === "high")', "filter(([, risk]) => risk !== undefined)"]],
    found("permits nothing by a lower tier"),
  ),
  mutation(
    "policy: a found file names a service",
    [["src/policy/policies.ts", "(restrictsOnly ? [] : [document])", "(restrictsOnly === false ? [] : [document])"]],
    found("names no service: nothing is sent to its address"),
  ),
  mutation(
    "policy: hidden paths are not hidden from searches",
    [["src/policy/restrict-environment.ts", "guard ? guardFiles(confined, guard, resolvePath) : confined", "confined"]],
    runtime("a denied path is not read, listed or found by any tool of a run"),
  ),
  mutation(
    "policy: redirects are not decided",
    [
      [
        "src/policy/restrict-environment.ts",
        "return admitRedirects(visible, rules, call, verdict)",
        'return verdict === "deny" ? admitRedirects(visible, rules, call, verdict) : visible',
      ],
    ],
    runtime("a redirect is decided like the first address"),
  ),
  mutation(
    "policy: rewritten arguments are not decided again by the rules",
    [
      [
        rules,
        "call = { ...call, args: changed.args }\n",
        "call = { ...call, args: changed.args }\n    return { decision: { ...decision, args: changed.args }, steps: first }\n",
      ],
    ],
    ["src/policy/rules/compile-rules.test.ts", "changed arguments are decided again"],
  ),
  mutation(
    "policy: open mode opens for an answer that is not understood",
    [[service, '=== "open" && isSilent) {', '=== "open") {']],
    client("a service that answers with an unknown verdict in open mode lets nothing run"),
    faults("a service that fails with an unknown verdict before the tool in open mode lets nothing run"),
  ),
  mutation(
    "policy: open mode is the default",
    [[service, 'enforcementFailureMode === "open" && isSilent', 'enforcementFailureMode !== "closed" && isSilent']],
    client("a service that fails with status 500 before the tool lets nothing run"),
  ),
  mutation(
    "policy: an unknown verdict of the service allows",
    [
      [
        service,
        'if (decision !== "allow") throw misunderstood("an unknown verdict")',
        'if (decision !== "allow") return { decision: "allow" }',
      ],
    ],
    client("a service that fails with an unknown verdict before the tool lets nothing run"),
  ),
  mutation(
    "policy: a verdict about another call is accepted",
    [[service, 'if (about !== undefined && about !== digest) throw misunderstood("a verdict about another call")', ""]],
    client("a service that fails with a verdict about another call before the tool lets nothing run"),
  ),
  mutation(
    "policy: what open mode passed on is not recorded",
    [[calls, 'if (opened.length > 0) this.#record("allow", opened)', ""]],
    faults("a service that fails with status 500 in open mode lets the call run, and the decisions say why"),
  ),
  mutation(
    "policy: the service is not asked about what a tool throws",
    [[service, "    await checkFailure(policy, use, error)\n", ""]],
    client("what a tool throws is scanned like an output"),
  ),
  mutation(
    "policy: a name alone skips enforcement",
    [
      [
        service,
        "return isOfServer && URL.canParse(address) && new URL(address).href === url.href",
        "return isOfServer",
      ],
    ],
    client("the tool mcp__files__read at https://evil.example/mcp is enforced"),
  ),
  mutation(
    "policy: a vendor's search shows what is hidden",
    [
      [
        `${calls}/decide.ts`,
        "return outside ?? showsHidden(final, run.policy.rules, ruled, config.env.files, config.resolvePath)",
        "return outside",
      ],
    ],
    ["test/backend-runtime.test.ts", "does not search a folder with a file that Read is denied"],
  ),
  mutation(
    "policy: a search is judged by its folder alone",
    [["src/policy/search-below.ts", 'if (kind === "folder") folders.push(below)', ""]],
    search("does not run where it would show a hidden path"),
  ),
  mutation(
    "policy: a search of unknown extent runs",
    [
      [
        "src/policy/search-below.ts",
        "if (path === undefined || files === undefined) return",
        "if (path === undefined) return",
      ],
    ],
    search("a search does not run if it is not known what is there"),
  ),
  mutation(
    "policy: a lost refusal leaves its permission",
    [[`${rules}/import-settings.ts`, "withoutExposed(valid, lost, notes)", "valid"]],
    imports("an import never allows what the settings refuse"),
  ),
  mutation(
    "policy: a computed word is no path",
    [[`${rules}/decide-line.ts`, "if (unknown.some(", "if (false && unknown.some("]],
    commands("a path that is refused to every tool"),
  ),
  mutation(
    "policy: an IPv4 address inside an IPv6 one is another host",
    [[`${rules}/url-pattern.ts`, "(embeddedIpv4(host.slice(1, -1)) ?? host)", "host"]],
    ["src/policy/rules/url-rules.test.ts", "a URL refusal applies to what servers make of"],
  ),
  mutation(
    "policy: the service lets in who sends an empty key",
    [[`${service}/server/callers.ts`, 'if (value === "") throw emptyKey(name)', ""]],
    client("an empty key or secret is refused"),
  ),
  mutation(
    "policy: a decision counts although a path leads elsewhere by now",
    [[`${calls}/run-call.ts`, "if (ended) return this.record(call, ended, 0, effect)", ""]],
    links("a question that nobody was asked, because the link led elsewhere, refuses the call"),
    links("a link that is made while a person is asked is not followed by Read of a file"),
  ),
  mutation(
    "policy: the decision about a vendor's call counts although a path leads elsewhere by now",
    [[`${calls}/own-calls.ts`, "return refused === undefined ? this.#begin", "return refused !== null ? this.#begin"]],
    ["src/run/calls/own-calls.test.ts", "a link that is made while a person is asked refuses the call of a vendor"],
  ),
  mutation(
    "policy: the decision about another framework's call counts although a path leads elsewhere by now",
    [["src/policy/local.ts", "return refused === undefined ? { verdict", "return refused !== null ? { verdict"]],
    search("a link that is made while a person is asked refuses the call of another framework"),
    links("tools without a runtime are refused a link that is made while a person is asked"),
  ),
  mutation(
    "policy: an approval answers a question that was not asked",
    [
      [
        "src/policy/rule-decision.ts",
        "return isStricter || asked.some((each) => !before.asked.includes(each)) ?",
        "return isStricter ?",
      ],
    ],
    links("a question that nobody was asked, because the link led elsewhere, refuses the call"),
  ),
  mutation(
    "policy: an approval after a pause answers a question that was not asked",
    [
      [
        `${calls}/finish-open-calls.ts`,
        "const ruled = answeredRules(run, confirmed.ruled, changed !== undefined)",
        "const { ruled } = verdict",
      ],
    ],
    links("an approval before a pause does not answer a rule that asks about where the path leads now"),
  ),
  mutation(
    "policy: an answer to a running call answers a question that was not asked",
    [[`${calls}/continue-asked.ts`, "ruled: ruled ?? confirmed.ruled", "ruled: confirmed.ruled"]],
    links("an approved call that asks while it runs does not follow a link"),
  ),
  mutation(
    "policy: what is read is not checked where it is opened",
    [[`${files}/files.ts`, 'this.guard(pin.real, "read")\n', ""]],
    guards("a guard checks the real path of read"),
    guards("a guard checks the real path of list"),
  ),
  mutation(
    "policy: an edit may quote what may not be read",
    [[`${files}/files.ts`, '              guard(pin.real, "read")\n', ""]],
    guards("a guard checks the real path of update, which reads"),
    runtime("a tool that changes a file does not quote it in an error if the file may not be read"),
  ),
  mutation(
    "policy: what is replaced is not checked where it is opened",
    [
      [
        `${files}/files.ts`,
        'guard(join(pin.real, name), "write")\n    return replaceFile(pin, name, bytes, version)',
        "return replaceFile(pin, name, bytes, version)",
      ],
    ],
    guards("a guard checks the real path of write"),
  ),
  mutation(
    "policy: folders are made where a file may not be written",
    [[`${files}/place-file.ts`, 'guard(join(parent.real, ...missing.slice(index)), "write")', ""]],
    guards("a guard checks the real path of write of a new file in new folders"),
  ),
  mutation(
    "policy: changes of several files are not checked",
    [[`${files}/commit-files.ts`, 'guard(join(pin.real, basename(step.target)), "write")', ""]],
    guards("a guard checks the real path of commit"),
  ),
  mutation(
    "policy: a list shows what may not be read",
    [[`${files}/files.ts`, " && mayRead(guard, real)", ""]],
    guards("a guard leaves refused entries out of a list"),
  ),
  mutation(
    "policy: a search finds what may not be read",
    [["src/hosts/node/search/ripgrep-search.ts", " && mayRead(guard, `${place}/${path}`)", ""]],
    guards("a search asks the guard about its folder and every file that it finds"),
  ),
  mutation(
    "policy: the files of a session are not guarded",
    [["src/hosts/node/store/session-folder.ts", "readable = own.guarded?.(guard) ?? own", "readable = own"]],
    guards("the files of a session are guarded, in its own folder too"),
  ),
  mutation(
    "policy: a link leads beyond what is permitted",
    [[`${rules}/guard-paths.ts`, " || (needsPermission && !isPermitted(real, can))", ""]],
    ["src/policy/rules/guard-paths.test.ts", "what a call opens must be permitted as its path was"],
  ),
  mutation(
    "policy: a permission to read is one for an unknown use",
    [
      [
        `${rules}/compile-rule.ts`,
        "if (path?.can === undefined ? isPermission :",
        "if (path?.can === undefined ? false :",
      ],
    ],
    words("of unknown use is refused by any word, and permitted by none"),
  ),
  mutation(
    "policy: a refusal to read does not apply to an unknown use",
    [
      [
        `${rules}/compile-rule.ts`,
        "if (path?.can === undefined ? isPermission :",
        "if (path?.can === undefined ? true :",
      ],
    ],
    words("of unknown use is refused by any word, and permitted by none"),
  ),
  mutation(
    "policy: a permission to run commands is one for an unknown use",
    [[`${rules}/compile-rule.ts`, "condition.can !== undefined && isPermission && !isKnown", "false"]],
    words("a permission for commands or URLs is none for a tool of unknown use"),
  ),
  mutation(
    "policy: an edit does not read its target",
    [
      [
        "src/tools/edit/uses.ts",
        "({ read: pathArguments(args), write: pathArguments(args) })",
        "({ write: pathArguments(args) })",
      ],
    ],
    words("a rule that denies to read refuses every tool that can"),
  ),
  mutation(
    "policy: a move does not read its source",
    [["src/tools/patch/uses.ts", "return { read: known.filter((path) => !isAdded(path)), write:", "return { write:"]],
    words("a rule that denies to read refuses every tool that can"),
  ),
  mutation(
    "policy: a permission for git diff is one for its output",
    [[`${rules}/decide-line.ts`, "[...line.redirects, ...implied]", "line.redirects"]],
    words("a permission for git diff decides git diff --output=/home/me/.bashrc as ask"),
  ),
  mutation(
    "policy: a program of the agent counts as the one of the system",
    [["src/policy/shell/programs.ts", 'replace(/^\\/(usr\\/)?bin\\//, "")', 'replace(/^.*\\//, "")']],
    commands("a program that the agent may have written is not known to read only"),
  ),
  mutation(
    "policy: a command that makes a link is not asked",
    [
      [
        `${rules}/decide-line.ts`,
        "if (context.refusesPaths && makesLink(command)) {",
        "if (context.refusesPaths && false) {",
      ],
    ],
    commands("ln -s . q is asked"),
  ),
  mutation(
    "policy: a path behind an extracted link is taken as it is",
    [[`${rules}/command-paths.ts`, "(isHere(word) && !isMoved)", "isHere(word)"]],
    commands("tar xf a.tar; cat q/key is asked, since a later path may lead elsewhere"),
  ),
  mutation(
    "policy: a redirect behind an extracted link is taken as it is",
    [[`${rules}/decide-line.ts`, "    (isMoved && context.refusesPaths) ||\n", ""]],
    commands("a redirect behind such a command is asked"),
  ),
  mutation(
    "policy: an output is not checked if the secrets of its call were dropped while it ran",
    [
      [
        `${calls}/check-output.ts`,
        'import type { OpenRun } from "../state/open-run.ts"',
        'import type { OpenRun } from "../state/open-run.ts"\nimport { realArgs } from "../state/redact-events.ts"',
      ],
      [
        `${calls}/check-output.ts`,
        "    const digest = (value: Json)",
        "    if (realArgs(this.#run, this.#call) === undefined) return undefined\n    const digest = (value: Json)",
      ],
    ],
    runtime("an output is checked although the process has dropped the secrets of its call meanwhile"),
  ),
]
