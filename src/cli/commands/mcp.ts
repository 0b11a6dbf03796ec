import { resolve } from "node:path"
import type { AgentTools } from "../../hosts/node/agent-tools.ts"
import { newNonce } from "../../lib/id.ts"
import {
  type Command,
  commonOptions,
  noPositionals,
  numberOption,
  parseCommandLine,
  storeOption,
  UsageError,
} from "../arguments.ts"
import type { Subcommand } from "../mcp/subcommand.ts"
import type { Output } from "../output.ts"
import { aborted, givenToken, listening, stopSignal } from "../serving.ts"
import { version } from "../version.ts"

const sandboxes = ["off", "auto", "required"] as const
const tokenName = "LONGHAUL_MCP_TOKEN"

const options = {
  root: { type: "string", value: "<dir>", help: "Folder that the tools work in. Default: the current one." },
  policy: { type: "string", value: "<file>", help: "Policy file that decides which calls run." },
  "read-only": { type: "boolean", help: "Serve only tools that change nothing." },
  sandbox: {
    type: "string",
    value: "<mode>",
    values: sandboxes,
    help: "Sandbox for Bash: off, auto (if available) or required. Default: off.",
  },
  http: { type: "boolean", help: "Serve streamable HTTP instead of stdin and stdout." },
  host: { type: "string", value: "<address>", help: "With --http: address to listen on. Default: 127.0.0.1." },
  port: { type: "string", value: "<n>", help: "With --http and login: port to listen on. Default: any free one." },
  "mcp-config": { type: "string", value: "<file>", help: "File with the MCP servers to use. Default: .mcp.json." },
  ...storeOption,
  ...commonOptions,
} as const

/** For other MCP servers. Each is loaded when it is called. */
const subcommands: Readonly<Record<string, () => Promise<{ readonly subcommand: Subcommand }>>> = {
  list: () => import("../mcp/list.ts"),
  tools: () => import("../mcp/tools.ts"),
  call: () => import("../mcp/call.ts"),
  prompt: () => import("../mcp/prompt.ts"),
  accept: () => import("../mcp/accept.ts"),
  login: () => import("../mcp/login.ts"),
  logout: () => import("../mcp/logout.ts"),
}

export const command: Command = {
  summary: "Serve the tools to an MCP client until it disconnects or you press Ctrl-C, or use other MCP servers.",
  usage:
    "[options] [list | tools <server> | call <server> <tool> ['<args>'] | prompt <server> <name> ['<args>'] | accept <server> | login <server> | logout <server>]",
  options,
  completes: Object.keys(subcommands),
  notes: [
    "Without a subcommand, the tools of longhaul are served.",
    "list     List the servers of the file. Nothing is started.",
    "tools    Show the tools, prompts and resources of a server.",
    "call     Call a tool once, outside any run and any policy.",
    "prompt   Print a prompt of a server, for example as the task of a run.",
    "accept   Accept the current tools of a server after they have changed.",
    "login    Log in to a server with a browser. Later runs use the login.",
    "logout   Delete the login of a server.",
    "A <server> is a name in the file, or an address.",
    "Without --http, stdin and stdout are reserved for the client, and --json writes its one line to stderr.",
    `With --http, every request needs a bearer token: the value of ${tokenName}, else a new one that is printed.`,
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("mcp", args, options)
    const [name, ...rest] = positionals
    const load = name !== undefined && Object.hasOwn(subcommands, name) ? subcommands[name] : undefined
    if (load) return (await load()).subcommand.run(rest, values, output)
    noPositionals("mcp", positionals)
    const port = numberOption("port", values.port, { from: 0, to: 65_535, whole: true })
    if (!values.http && (values.host !== undefined || port !== undefined)) {
      throw new UsageError("--host and --port require --http.", "Add --http, or omit them.")
    }
    const token = values.http ? givenToken(tokenName) : undefined
    const root = resolve(values.root ?? ".")
    const sandbox = sandboxOption(values.sandbox)
    const { createAgentTools } = await import("../../hosts/node/agent-tools.ts")
    const policy = values.policy === undefined ? {} : { policy: { file: resolve(values.policy) } }
    const tools = createAgentTools({ root, sandbox, readOnly: values["read-only"] ?? false, ...policy })
    const start: Start = { tools, root, json: values.json ?? false, stop: stopSignal() }
    try {
      if (values.http) await overHttp(start, { host: values.host, port, token }, output)
      else await overStdio(start, output)
    } finally {
      await tools.close()
    }
    return 0
  },
}

interface Start {
  readonly tools: AgentTools
  readonly root: string
  readonly json: boolean
  readonly stop: AbortController
}

interface Place {
  readonly host: string | undefined
  readonly port: number | undefined
  readonly token: string | undefined
}

async function overStdio({ tools, root, json, stop }: Start, output: Output): Promise<void> {
  const { serveMcpStdio } = await import("../../hosts/node/mcp/stdio.ts")
  output.onReaderGone(() => stop.abort())
  if (json) output.complain(JSON.stringify({ type: "serving", transport: "stdio", root, tools: namesOf(tools) }))
  else if (process.stdin.isTTY) {
    output.complain(`MCP on stdin and stdout, for ${root}. Let an MCP client start this command. Press Ctrl-C to stop.`)
  }
  await serveMcpStdio(tools, { version: await version() }, stop.signal)
}

async function overHttp({ tools, root, json, stop }: Start, place: Place, output: Output): Promise<void> {
  const { serveMcpHttp } = await import("../../hosts/node/mcp/http.ts")
  const { isLoopback } = await import("../../hosts/node/mcp/guard.ts")
  const { host = "127.0.0.1", port = 0 } = place
  const token = place.token ?? newNonce()
  const served = await listening(host, port, async () =>
    serveMcpHttp(tools, { version: await version(), token, host, port }),
  )
  // A token from the environment is already known to the user and must not reach a log.
  const shown = place.token === undefined ? token : undefined
  if (json) {
    const names = namesOf(tools)
    output.printJson({ type: "serving", transport: "http", url: served.url, token: shown, root, tools: names })
  } else {
    output.print(`MCP at ${served.url}, for ${root}. Press Ctrl-C to stop. Every request needs this header:`)
    output.print(`  Authorization: Bearer ${shown ?? `<the value of ${tokenName}>`}`)
  }
  if (!isLoopback(host)) {
    output.complain(
      "This address is reachable from other machines: token and files are sent unencrypted unless a TLS proxy is in front.",
    )
  }
  await aborted(stop.signal)
  await served.close()
}

function sandboxOption(given: string = "off"): (typeof sandboxes)[number] {
  const mode = sandboxes.find((name) => name === given)
  if (mode !== undefined) return mode
  throw new UsageError(`Invalid value for --sandbox: ${JSON.stringify(given)}.`, `Use one of: ${sandboxes.join(", ")}.`)
}

function namesOf(tools: AgentTools): readonly string[] {
  return tools.listTools().map(({ name }) => name)
}
