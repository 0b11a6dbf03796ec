import { closest } from "../../lib/closest.ts"
import { type Command, commonOptions, invocation, parseCommandLine, UsageError } from "../arguments.ts"
import type { Subcommand } from "../policy/subcommand.ts"

const options = {
  policy: { type: "string", value: "<file>", help: "explain: the policy file. Default: the one found here or above." },
  workspace: {
    type: "string",
    value: "<dir>",
    help: "explain: the workspace of the call. Default: the current folder.",
  },
  tool: {
    type: "string",
    multiple: true,
    value: "<name>",
    help: "check: a tool of your own that rules may name. Repeat it for more.",
  },
  host: { type: "string", value: "<address>", help: "serve: address to listen on. Default: 127.0.0.1." },
  port: { type: "string", value: "<n>", help: "serve: port to listen on. Default: any free one." },
  audit: { type: "string", value: "<file>", help: "serve: audit log. Default: policy-audit.jsonl." },
  ...commonOptions,
} as const

/** Each is loaded when it is called. */
const subcommands: Readonly<Record<string, () => Promise<{ readonly subcommand: Subcommand }>>> = {
  check: () => import("../policy/check.ts"),
  test: () => import("../policy/test.ts"),
  explain: () => import("../policy/explain.ts"),
  import: () => import("../policy/import.ts"),
  serve: () => import("../policy/serve.ts"),
}

export const command: Command = {
  summary: "Check, test, explain, import or serve a policy file.",
  usage: "<check <file> | test [file] | explain '<call>' | import <settings.json> | serve <file>>",
  options,
  completes: Object.keys(subcommands),
  notes: [
    "check    Check a file and its tests, list its rules and say what they really allow.",
    "test     Run the tests of a file, or of the file found here or above.",
    "explain  Show which rule decides a call and why. Nothing is run.",
    "import   Translate .claude/settings.json. Permissions only get narrower, refusals only wider.",
    "serve    Answer policy clients over HTTP until Ctrl-C. The API key is LONGHAUL_POLICY_API_KEY, else a new one.",
    `Example: longhaul policy explain '{"tool":"Bash","args":{"command":"git push --force"}}'`,
    "Exit codes: 0 valid, 1 invalid or a test failed, 2 usage error.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("policy", args, options)
    const [name, argument, extra] = positionals
    if (extra !== undefined) {
      throw new UsageError(`Unexpected argument for policy: ${JSON.stringify(extra)}.`, "Quote a call as one argument.")
    }
    const load = name !== undefined && Object.hasOwn(subcommands, name) ? subcommands[name] : undefined
    if (load === undefined) throw unknownSubcommand(name)
    const { subcommand } = await load()
    return subcommand.run(argument, values, output)
  },
}

function unknownSubcommand(name: string | undefined): UsageError {
  const names = Object.keys(subcommands)
  const meant = name === undefined ? undefined : closest(name, names)
  const help = `See ${invocation()} policy --help.`
  if (name === undefined)
    return new UsageError("Missing subcommand for policy.", `Use one of: ${names.join(", ")}. ${help}`)
  return new UsageError(
    `Unknown subcommand of policy: ${JSON.stringify(name)}.`,
    meant === undefined ? `Use one of: ${names.join(", ")}. ${help}` : `Did you mean ${meant}? ${help}`,
  )
}
