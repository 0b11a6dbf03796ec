// Promises about config and policy files: what a file that nobody named may set, when a named one is trusted, and when it is checked.
import { mutation, programMutation } from "./mutation.mjs"

const config = "src/cli/config"
const found = (name) => ["test/found-files.test.ts", name]
const later = (name) => ["src/cli/config/planted-later.test.ts", name]
const checked = (name) => ["test/policy-runtime.test.ts", name]

export const mutations = [
  mutation(
    "config: a config file that a command removed restricts no later run",
    [["src/cli/config/file.ts", "  if (removed !== undefined) throw removedByCommands(removed)\n", "  void removed\n"]],
    found("looking for a named config that is gone is refused"),
  ),
  mutation(
    "config: a policy file that a command removed restricts no later run",
    [["src/hosts/node/policy/load-policy.ts", "    if (removed !== undefined) {", "    if (removed === folder) {"]],
    found("looking for a named policy that is gone is refused"),
  ),
  mutation(
    "config: a found file turns memory on while it is said to be ignored",
    [[config, '...(memory === "off" && { memory }),', "...(memory && { memory }),"]],
    found('a found config file keeps memory "read-write"'),
  ),
  mutation(
    "config: a found file trusts the skills of the workspace while it is said to be ignored",
    [[config, "...(skills === false && { skills }),", "...(skills !== undefined && { skills }),"]],
    found("a found config file keeps skills true"),
  ),
  mutation(
    "config: a found file raises the turn limit while it is said to be ignored",
    [[config, "...(isFewTurns && turns !== undefined && { turns })", "...(turns !== undefined && { turns })"]],
    found("a found config file keeps limits"),
    found("a config file that was found and not named sets no more than 100 turns"),
  ),
  mutation(
    "config: a found file may raise the turn limit",
    [[config, "const defaultTurns = 100\n", "const defaultTurns = 10_000\n"]],
    found("a found config file keeps limits"),
  ),
  mutation(
    "config: a file is trusted before it is checked",
    [
      [
        config,
        "  const file = await checked(path, parseData(path, text), { isProgram, isNamed: true })\n  trustFile(path, text)\n",
        "  trustFile(path, text)\n  const file = await checked(path, parseData(path, text), { isProgram, isNamed: true })\n",
      ],
    ],
    found("a config file that is refused because it is not JSON"),
    found("a config file that is refused because its workspace does not exist"),
  ),
  mutation(
    "config: a policy file is trusted before those that it extends are checked",
    [
      [
        "src/hosts/node/policy",
        "if (text !== undefined && access.within === undefined) named.push([path, text])",
        "if (text !== undefined && access.within === undefined) trustFile(path, text)",
      ],
    ],
    found("a policy file that is refused because a file that it extends is missing"),
  ),
  mutation(
    "config: only the first run finds a pattern that is no regular expression",
    [["src/policy/rules/problems.ts", "      checkPatternSyntax(value)\n", ""]],
    checked("in a rule is refused by createRuntime, with its place"),
    checked("createRuntime refuses policy.file pattern.yaml at once"),
  ),
  mutation(
    "config: only the first run finds that the policy file is missing or invalid",
    [["src/hosts/node/index.ts", "checkPolicyFile(config.policy.file)", "{}"]],
    checked("createRuntime refuses policy.file missing.yaml at once"),
    checked("createRuntime refuses policy.file misspelt.json at once"),
    checked("createRuntime refuses policy.file misspelt.yaml at once"),
  ),
  mutation(
    "config: only the first run finds that there is no file system for the policy file",
    [
      [
        "src/policy/policies.ts",
        "if (host.readFile === undefined) {",
        "if (host.readFile === undefined) return async () => own\n  if (file === undefined) {",
      ],
      ["src/policy/policies.ts", "const readFile = host.readFile.bind(host)", "const readFile = host.readFile"],
    ],
    checked("policy.file is refused at once where there is no file system"),
  ),
  mutation(
    "config: runs with a policy of their own read the policy file again",
    [["src/policy/policies.ts", "read ??= readFile(file)", "read = readFile(file)"]],
    checked("a policy file is read once"),
  ),
  mutation(
    "config: a valid pattern is refused before the engine sees it",
    [
      ["src/lib/text/re2-syntax.ts", "[CLMNPSZ]/y", "[LN]/y"],
      [
        "src/lib/text/re2-syntax.ts",
        "if (end === PARENTHESIS) return false",
        "if (end === PARENTHESIS) this.#isRepeatable = false",
      ],
    ],
    ["src/lib/text/re2-syntax.test.ts", "is accepted, as by the engine"],
    ["src/lib/text/re2-syntax.test.ts", "an arbitrary pattern is refused exactly if the engine refuses its syntax"],
  ),
  programMutation(
    "config: a config file that a command changed restricts no later run, and only a line says so",
    [
      [
        "src/cli/config/file.ts",
        'if (whenPlanted === "refuse") throw changedByCommands(path)',
        "void changedByCommands",
      ],
    ],
    ...["chat", "chat --continue", "resume", "approve"].map((command) => later(`is refused by ${command}, too`)),
  ),
  programMutation(
    "config: chat goes on without the config file that a command changed",
    [
      [
        "src/cli/chat/open-chat.ts",
        "readConfig(choice, earlier && choice.store === undefined ? () => {} : output.complain)",
        'readConfig(choice, output.complain, { planted: "ignore" })',
      ],
    ],
    later("is refused by chat, too"),
    later("is refused by chat --continue, too"),
  ),
  programMutation(
    "config: resume goes on without the config file that a command changed",
    [
      [
        "src/cli/resume-and-show.ts",
        "readConfig(choice, choice.store === undefined ? () => {} : output.complain)",
        'readConfig(choice, output.complain, { planted: "ignore" })',
      ],
    ],
    later("is refused by resume, too"),
    later("is refused by approve, too"),
  ),
  programMutation(
    "config: a script without a key takes the answers of rules for those of a model",
    [["src/cli/commands/run.ts", "  await requireModel(values, file)\n", "  void requireModel\n"]],
    ["src/cli/fails-closed.test.ts", "run without a key, outside a terminal, exits with 2"],
  ),
  programMutation(
    "config: the mark of a take makes a short id name two runs",
    [
      [
        "src/cli/read-store.ts",
        "ids.filter((id) => id.startsWith(given) && isId(id))",
        "ids.filter((id) => isId && id.startsWith(given))",
      ],
    ],
    ["src/cli/fails-closed.test.ts", "the start of an id names its run, also after an approval took the run"],
  ),
]
