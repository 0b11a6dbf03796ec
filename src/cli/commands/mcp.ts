import { resolve } from "node:path"
import { LonghaulError } from "../../contract/error.ts"
import type { AgentTools } from "../../hosts/node/agent-tools.ts"
import type { Served } from "../../hosts/node/http/serve.ts"
import { newNonce } from "../../lib/id.ts"
import { type Command, commonOptions, noPositionals, numberOption, parseCommandLine, UsageError } from "../arguments.ts"
import type { Output } from "../output.ts"
import { version } from "../version.ts"

const sandboxes = ["off", "auto", "required"] as const
const tokenName = "LONGHAUL_MCP_TOKEN"
const shortestToken = 16

const options = {
  root: { type: "string", value: "<dir>", help: "The folder the tools work in. Default: this one." },
  "read-only": { type: "boolean", help: "Only the tools that change nothing." },
  sandbox: {
    type: "string",
    value: "<mode>",
    values: sandboxes,
    help: "What Bash runs in: off, auto (a sandbox where there is one) or required. Default: off.",
  },
  http: { type: "boolean", help: "Serve streamable HTTP instead of stdin and stdout." },
  host: { type: "string", value: "<address>", help: "With --http: where to listen. Default: 127.0.0.1." },
  port: { type: "string", value: "<n>", help: "With --http: the port. Default: any free one." },
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Serve the tools to an MCP client, until it ends the connection or Ctrl-C.",
  usage: "[options]",
  options,
  notes: [
    "Without --http, stdin and stdout belong to the client, and --json writes its one line to stderr.",
    `With --http, every request needs a bearer token: the one in ${tokenName}, else a new one that is printed.`,
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("mcp", args, options)
    noPositionals("mcp", positionals)
    const port = numberOption("port", values.port, { from: 0, to: 65_535, whole: true })
    if (!values.http && (values.host !== undefined || port !== undefined)) {
      throw new UsageError("--host and --port are for --http.", "Add --http, or leave them out.")
    }
    const token = values.http ? givenToken() : undefined
    const root = resolve(values.root ?? ".")
    const sandbox = sandboxOption(values.sandbox)
    const { createAgentTools } = await import("../../hosts/node/agent-tools.ts")
    const tools = createAgentTools({ root, sandbox, readOnly: values["read-only"] ?? false })
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
    output.complain(`MCP on stdin and stdout, for ${root}: an MCP client starts this. Ctrl-C stops it.`)
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
  // One that was given is known already, and need not come into a log.
  const shown = place.token === undefined ? token : undefined
  if (json) {
    const names = namesOf(tools)
    output.printJson({ type: "serving", transport: "http", url: served.url, token: shown, root, tools: names })
  } else {
    output.print(`MCP at ${served.url}, for ${root}. Ctrl-C stops it. Every request needs this header:`)
    output.print(`  Authorization: Bearer ${shown ?? `<the value of ${tokenName}>`}`)
  }
  if (!isLoopback(host)) {
    output.complain("Others can reach this: token and files cross the network unencrypted unless TLS stands before it.")
  }
  await aborted(stop.signal)
  await served.close()
}

async function listening(host: string, port: number, listen: () => Promise<Served>): Promise<Served> {
  try {
    return await listen()
  } catch (cause) {
    if (!(cause instanceof Error && "syscall" in cause)) throw cause
    throw new LonghaulError("config_invalid", `${host}:${port} cannot be used: ${cause.message}.`, {
      cause,
      fix: "Choose another --host or --port, or leave them out.",
    })
  }
}

function givenToken(): string | undefined {
  const token = process.env[tokenName]
  if (!token) return undefined
  if (token.length >= shortestToken && /^[\w.~+/=-]+$/.test(token)) return token
  throw new LonghaulError("config_invalid", `${tokenName} is no usable token.`, {
    fix: `Give at least ${shortestToken} letters, digits or any of ._~+/=-, or unset it: a new one is then printed.`,
  })
}

function sandboxOption(given: string = "off"): (typeof sandboxes)[number] {
  const mode = sandboxes.find((name) => name === given)
  if (mode !== undefined) return mode
  throw new UsageError(`--sandbox is ${JSON.stringify(given)}.`, `Give one of ${sandboxes.join(", ")}.`)
}

function namesOf(tools: AgentTools): readonly string[] {
  return tools.listTools().map(({ name }) => name)
}

function stopSignal(): AbortController {
  const stop = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort())
  return stop
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })
}
