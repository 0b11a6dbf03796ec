// Promises of the policy about command lines, other agents' calls and the sandbox.
import { mutation } from "./mutation.mjs"

const rules = "src/policy/rules"
const tiers = (name) => ["src/policy/rules/tier-lines.test.ts", name]
const pipeline = (name) => ["src/policy/pipeline.test.ts", name]
const values = (name) => ["src/policy/rules/compile-rules.test.ts", name]
const foreign = (name) => ["test/foreign-calls.test.ts", name]
const refusedPaths = (name) => ["src/hosts/node/shell/refused-paths.test.ts", name]
const reach = (name) => ["src/policy/rules/reach-lines.test.ts", name]
const client = (name) => ["test/policy-service-client.test.ts", name]
const wholeFolders = (name) => ["test/policy-tiers.test.ts", name]

export const mutations = [
  mutation(
    "policy: where the tier decides, a line that cannot be read passes",
    [
      [
        `${rules}/decide-line.ts`,
        "context.unparsed !== undefined || context.refuses",
        "context.unparsed !== undefined",
      ],
    ],
    tiers("[[ a ]]; echo x > f is asked"),
    ["test/policy-tiers.test.ts", "does not run beside a rule that refuses something"],
  ),
  mutation(
    "policy: where the tier decides, a variable that starts programs passes",
    [
      [
        `${rules}/decide-line.ts`,
        "context.refuses ? command.variables.find(mayStartPrograms) : undefined",
        "undefined",
      ],
    ],
    tiers("BASH_ENV=run.sh bash -c true is asked"),
    ["test/policy-tiers.test.ts", "does not run beside a rule that refuses something"],
  ),
  mutation(
    "policy: TERMINFO counts as harmless",
    [["src/policy/shell/variables.ts", "|TERM|", "|TERM\\w*|"]],
    tiers("a variable that is no known setting does not pass with a permitted command"),
  ),
  mutation(
    "policy: what a redirect reads is judged by the rules for Write",
    [[`${rules}/decide-line.ts`, 'access === "write" ? "Write" : "Read"', '"Write"']],
    tiers("sort < .env beside a rule that denies Read is decided as deny"),
  ),
  mutation(
    "policy: a redirect behind cd is judged in the folder before it",
    [[`${rules}/decide-line.ts`, '    (changesFolder && !target.text.startsWith("/")) ||\n', ""]],
    tiers("a redirect behind cd is asked, not judged in the folder before it (Write)"),
  ),
  mutation(
    "policy: a service may change a call that contains secrets",
    [
      [
        "src/policy/pipeline.ts",
        "if (args !== call.args) return { reasons, asks, denied",
        "if (false) return { reasons, asks, denied",
      ],
    ],
    pipeline("a service cannot change a call whose secrets it saw as references"),
  ),
  mutation(
    "policy: only the first service scans outputs",
    [
      [
        "src/policy/pipeline.ts",
        'for (const service of services) {\n    const verdict = await verdictOf("block"',
        'for (const service of services.slice(0, 1)) {\n    const verdict = await verdictOf("block"',
      ],
    ],
    pipeline("an output is withheld if service 1 of three blocks it"),
  ),
  mutation(
    "policy: a refusal of an argument stops at a line break",
    [[`${rules}/value-pattern.ts`, "`(?s:${source})`", "`(?:${source})`"]],
    values('a refusal of "DROP.*TABLE" finds it'),
  ),
  mutation(
    "policy: a refusal of an argument must match the whole value",
    [[`${rules}/value-pattern.ts`, "anywhere.test(leaf)", "whole.test(leaf)"]],
    values('a refusal of "DROP TABLE" finds it'),
  ),
  mutation(
    "policy: a permission for an argument is found anywhere",
    [[`${rules}/value-pattern.ts`, "whole.test(String(value))", "anywhere.test(String(value))"]],
    values("an alternative at the end does not escape the whole value"),
  ),
  mutation(
    "policy: mcp__server__tool is not a tool of the server",
    [[`${rules}/tool-names.ts`, "wires.some((each) => matchesText(each, given))", "false"]],
    foreign("is meant by mcp:gh/list"),
    foreign("is meant in runs, too, by a rule in the form of other agents"),
  ),
  mutation(
    "policy: a name with two meanings is permitted by either",
    [[`${rules}/tool-names.ts`, "!(isPermission && isAmbiguous(name)) && ", ""]],
    foreign("is refused by each reading of an ambiguous name, and permitted by none"),
  ),
  mutation(
    "policy: the shell of another agent has no commands",
    [[`${rules}/known-tools.ts`, "isShell === true ? shellUses : undefined", "undefined"]],
    foreign("is permitted command by command, and asked without a rule"),
  ),
  mutation(
    "policy: rules for Bash are not for the shell of another agent",
    [[`${rules}/tool-names.ts`, 'return [tool, "Bash"]', "return [tool]"]],
    foreign("is refused by the words of the command of Bash"),
  ),
  mutation(
    "policy: a path inside the arguments is not seen",
    [
      [
        "src/lib/access/arguments.ts",
        "if (isContainer(value)) return anyPathArguments(value, depth + 1)",
        "if (isContainer(value)) return []",
      ],
    ],
    foreign('{"options":{"path":"secrets/k"}} names a path that a rule refuses'),
  ),
  mutation(
    "policy: a refusal of a server leaves its resources open",
    [
      [
        `${rules}/tool-names.ts`,
        "if (isPermission || !resourceTools.test(tool)) return [tool]",
        "if (tool) return [tool]",
      ],
    ],
    foreign("beside a refusal of the whole server x"),
  ),
  mutation(
    "policy: /proc/self/cwd leads elsewhere",
    [[`${rules}/path-pattern.ts`, 'if (kind === "cwd") return absolutePath(cwd, `./${rest}`)', ""]],
    ["src/policy/rules/path-rules.test.ts", "/proc/self/cwd/secrets/key is a path like others"],
  ),
  mutation(
    "policy: rules about paths work without resolving links in other software",
    [["src/policy/local.ts", "if (options.host?.resolvePath === undefined && mayUsePaths)", "if (false)"]],
    ["src/policy/search-below.test.ts", "need a host that resolves links"],
  ),
  mutation(
    "policy: a misspelt tool in tiers is accepted",
    [[`${rules}/check-document.ts`, "      checkTool(place, tool, problems, options)\n", ""]],
    ["test/policy-runtime.test.ts", "an invalid policy is refused by createRuntime"],
  ),
  mutation(
    "policy: a sandbox shows files that rules refuse to read",
    [["src/hosts/node/shell/sandbox.ts", '["--ro-bind", emptyFile, path]', '["--ro-bind", path, path]']],
    ["src/hosts/node/shell/sandbox.test.ts", "finds refused folders and files covered"],
  ),
  mutation(
    "policy: a refused folder in a sandbox can be filled",
    [["src/hosts/node/shell/sandbox.ts", '[...hidden, ...masked, "/"]', '[...hidden, "/"]']],
    ["src/hosts/node/shell/sandbox.test.ts", "finds refused folders and files covered"],
  ),
  mutation(
    "policy: a sandbox covers only the first level of the workspace",
    [["src/hosts/node/shell/refused-paths.ts", "while (level.length > 0) level =", "if (level.length > 0) level ="]],
    refusedPaths("what rules refuse is found: a name anywhere"),
  ),
  mutation(
    "policy: a command goes on when a protected file is replaced",
    [["src/hosts/node/shell/bound-paths.ts", "if (identityOf(path) !== this.#known.get(path)) this.#report(path)", ""]],
    refusedPaths("a path that was replaced before anybody listened is reported at once"),
  ),
  mutation(
    "policy: refusals are searched only where they are written in lower case",
    [
      [
        `${rules}/path-pattern.ts`,
        'matchesParts([last], [fold(name.normalize("NFC"))])',
        "matchesParts([last], [name])",
      ],
    ],
    refusedPaths("a name in any case, without exceptions"),
  ),
  mutation(
    "policy: a command that reads a whole folder is judged by its words",
    [[`${rules}/decide-line.ts`, "if (reaching !== undefined) return askWhereRefused(step, reaching)", ""]],
    reach("grep -r X . is asked where something refused exists"),
    reach("sort --compress-program=./run a.txt is asked where it could start or use what a rule refuses"),
  ),
  mutation(
    "policy: in a sandbox that hides paths, whole folders are asked about",
    [[`${rules}/reach-step.ts`, "if (!context.refuses || call.hidesRefused === true)", "if (!context.refuses)"]],
    reach("in a sandbox that hides paths, grep -r X . is not asked for them"),
  ),
  mutation(
    "policy: a command is asked about folders that hold nothing refused",
    [
      [
        `${rules}/reach-step.ts`,
        "if (listFolder === undefined) return folders.length > 0",
        "if (folders.length > 0) return true",
      ],
    ],
    reach("grep -r X . is not asked where nothing refused exists"),
  ),
  mutation(
    "policy: a shell without a sandbox claims to hide what rules refuse",
    [["src/hosts/node/shell/shell.ts", 'hidesRefused: settings.sandbox === "required"', "hidesRefused: true"]],
    wholeFolders("a command without a sandbox that reads a whole folder is asked"),
  ),
  mutation(
    "policy: rules of a run cannot list folders",
    [["src/policy/policies.ts", "    listFolder,\n    homeFolder,\n", "    homeFolder,\n"]],
    wholeFolders("a command without a sandbox that reads a whole folder is not asked where nothing refused exists"),
  ),
  mutation(
    "policy: the rules of a run on Node see no folder",
    [["src/hosts/node/policy/host.ts", "  async listFolder(path) {", "  async listedFolder(path) {"]],
    wholeFolders("a command without a sandbox that reads a whole folder is not asked where nothing refused exists"),
  ),
  mutation(
    "policy: the rules of a run on Node see empty folders",
    [["src/hosts/node/policy/host.ts", "return entries.map(toEntry)", "return entries.slice(0, 0).map(toEntry)"]],
    wholeFolders("a command without a sandbox that reads a whole folder is asked where something refused exists"),
  ),
  mutation(
    "policy: runTool runs what the caller made of the arguments meanwhile",
    [["src/policy/service/run-tool.ts", "toolInput: jsonCopy(given.toolInput), ", ""]],
    client("runTool runs the arguments that were decided, whoever changes them meanwhile"),
  ),
  mutation(
    "policy: any answer of a web server passes the preflight",
    [["src/policy/service/client.ts", "      checkAccepted(answer)\n", ""]],
    client("the preflight fails on a 200"),
  ),
  mutation(
    "policy: a 200 with any JSON object passes the preflight",
    [["src/policy/service/messages.ts", "if (status !== 202) throw", "if (status !== 202 && status !== 200) throw"]],
    client('the preflight fails on a 200 with "{}"'),
  ),
  mutation(
    "policy: a preflight that reached something else is worth a retry, and does not say where",
    [["src/policy/service/client.ts", "{ ...adviceOn(failure, url), cause: failure }", "{ cause: failure }"]],
    client("and names the address that is no policy service"),
    client("a preflight that is refused or not answered says what to check"),
  ),
  mutation(
    "policy: a text for the service is cut before its secrets are masked",
    [
      [
        "src/policy/service/client.ts",
        "withCapped(redact(body), capped, this.#maxBytes)",
        "redact(withCapped(body, capped, this.#maxBytes))",
      ],
    ],
    client("a text is never cut inside a secret"),
  ),
  mutation(
    "policy: a text for the service is cut inside a token",
    [["src/policy/service/messages.ts", "at < index && index < end", "at > index && index > end"]],
    client("a text is never cut inside a secret"),
  ),
  mutation(
    "policy: the texts of a failed tool are sent whole",
    [["src/policy/service/client.ts", '"prompt", "error", "stdout", "stderr", "output"', '"prompt", "error"']],
    client("a failed tool is reported with its output, bounded"),
  ),
  mutation(
    "policy: the output of a failed program is sent as a list of bytes",
    [["src/policy/service/run-tool.ts", "if (value instanceof Uint8Array) return", "if (false) return"]],
    client("the output of a program that failed is sent as text"),
  ),
  mutation(
    "policy: an output that cannot be written replaces the failure of the tool",
    [
      [
        "src/policy/service/run-tool.ts",
        "await reportFailure(policy, use, error).catch(() => undefined)",
        "await reportFailure(policy, use, error)",
      ],
      ["src/policy/service/run-tool.ts", "  } catch {\n    return undefined\n  }", "  } finally {\n  }"],
    ],
    client("a failure whose output cannot be written is still reported"),
  ),
  mutation(
    "policy: the output of a failed command of Claude is part of its error",
    [["src/enforce/claude-tool-calls.ts", "{ error: code, output }", "{ error }"]],
    ["src/enforce/claude-agent-sdk.test.ts", "is reported with its output apart"],
  ),
  mutation(
    "policy: the path of MCP sources may be an address",
    [["src/policy/service/client.ts", "    checkPath(options.directMcpSourceEnforcementPath)\n", ""]],
    client("directMcpSourceEnforcementPath"),
  ),
  mutation(
    "policy: a rule for a subject is one for everybody",
    [[`${rules}/compile-rule.ts`, "call.subject !== undefined && fits(call.subject)", "fits !== undefined"]],
    client("the subject of a key or token is a matcher"),
  ),
  mutation(
    "policy: a call that a person answered counts as run",
    [
      [
        "src/run/calls/decide.ts",
        "return isInput ? answered(text) : answeredInstead(call, text)",
        "return isInput ? answered(text) : answered(text)",
      ],
    ],
    ["src/run/calls/live-question.test.ts", "which does not run, is not ok"],
  ),
]
