import type { Brand } from "./brand.ts"
import type { Json } from "./json.ts"
import type { Transport } from "./provider.ts"
import type { ToolOutcome, ToolSpec } from "./tool.ts"

/** The services that a backend gets from its host. Only `longhaul/node` has processes and sockets. */
export interface BackendEnv {
  readonly transport: Transport
  readonly brand: Brand
  readonly deadlines: Deadlines
  /** Starts a program. Rejects with `backend_missing` if there is none. Absent: this host has no processes. */
  spawn?(program: ProgramSpec): Promise<LineChannel>
  /** Ends the programs that dead processes have left on this machine. */
  sweep?(): Promise<void>
  /** Serves tools and decisions to a program on this machine. Absent: this host has no sockets. */
  loopback?(service: LoopbackService): Promise<Loopback>
  /** A variable of the host, or of its secrets. Only what a backend names is passed on. */
  variable?(name: string): string | undefined
  /** True if there is a file or a folder at an absolute path. Absent: this host has no files. */
  exists?(path: string): Promise<boolean>
  /** An absolute path without symbolic links. Absent: this host has no files. */
  realPath?(path: string): Promise<string>
  /** Tokens of logins, which outlive the process. Absent: this host keeps none. */
  readonly tokens?: TokenStore
  /** A private folder that outlives the process, for a vendor's state. Created on first use. */
  stateFolder?(name: string): string
  /** Writes a file with settings for a vendor's program, outside every workspace. Resolves with its absolute path. */
  stateFile?(name: string, text: string): Promise<string>
}

/** Texts by key, readable for this user only. */
export interface TokenStore {
  read(key: string): Promise<string | undefined>
  write(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
  /** Runs the work while no other process that shares the store runs one for the same key. */
  exclusively<Value>(key: string, work: () => Promise<Value>): Promise<Value>
}

/** Times in milliseconds. */
export interface Deadlines {
  /** From the start of a program until its session is open. */
  readonly openMs: number
  /** For one reply of a program. */
  readonly replyMs: number
  /** For an end on request, before the program is killed. */
  readonly stopMs: number
}

export interface ProgramSpec {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly runId: string
  /** Variables of the host that it gets, in addition to PATH, HOME, locale and similar. */
  readonly passEnv: readonly string[]
  /** Variables that it gets with these values. */
  readonly env: Readonly<Record<string, string>>
  /** The command that installs the program, for the error if it is missing. */
  readonly install: string
}

/** A running program that speaks in lines. Its processes end with it, however it ends. */
export interface LineChannel {
  /** Lines of its standard output. Ends when the program has ended. A line over the limit fails with `backend_protocol`. */
  readonly lines: AsyncIterable<string>
  /** Resolves when the line is written. Rejects with `backend_crashed` after the end of the program. */
  send(line: string): Promise<void>
  /** Closes its input, on which most programs end. */
  endInput(): void
  /** Ends all its processes: asks first and kills after `stopMs`, or kills at once. Resolves when none is left. */
  end(how: "ask" | "kill"): Promise<void>
  readonly exit: Promise<ProgramExit>
}

export interface ProgramExit {
  readonly code: number | null
  readonly signal: string | null
  /** The end of its standard error. */
  readonly stderr: string
}

export interface LoopbackService {
  readonly tools: readonly ToolSpec[]
  /** `callId`: the program's id of the call, if it sent one. */
  callTool(call: { readonly name: string; readonly args: Json; readonly callId?: string }): Promise<ToolOutcome>
  /** Answers a question of `gate`. A rejection refuses. */
  decide?(question: Json): Promise<Json>
}

/** A service on a loopback address that only holders of its token can use. */
export interface Loopback {
  /** The tools as an MCP server over streamable HTTP. */
  readonly mcp: { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  /**
   * A command that passes its standard input to `decide` as JSON and prints the answer. It exits with 2 on any error. It
   * contains no secret.
   */
  readonly gate: readonly string[]
  close(): Promise<void>
}
