// Promises about config and policy files: what a file that nobody named may set, and when a named one is trusted.
import { mutation } from "./mutation.mjs"

const config = "src/cli/config"
const found = (name) => ["test/found-files.test.ts", name]

export const mutations = [
  mutation(
    "config: a found file turns memory on while it is said to be ignored",
    [[config, '...(memory === "off" && { memory }),', "...(memory && { memory }),"]],
    found('a config file that was found and not named with memory "read-write"'),
  ),
  mutation(
    "config: a found file trusts the skills of the workspace while it is said to be ignored",
    [[config, "...(skills === false && { skills }),", "...(skills !== undefined && { skills }),"]],
    found("a config file that was found and not named with skills true"),
  ),
  mutation(
    "config: a found file raises the turn limit while it is said to be ignored",
    [[config, "...(isFewTurns && turns !== undefined && { turns })", "...(turns !== undefined && { turns })"]],
    found("a config file that was found and not named with limits"),
    found("has no more than 100 turns"),
  ),
  mutation(
    "config: a found file may raise the turn limit",
    [[config, "const defaultTurns = 100\n", "const defaultTurns = 10_000\n"]],
    found("a config file that was found and not named with limits"),
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
]
