import type { OwnTool, ToolEnforcement } from "../../contract/capabilities.ts"
import type { JsonObject } from "../../contract/json.ts"
import { mcpSafe } from "../../lib/mcp-servers.ts"
import { kindTools, type SeenCall, type ToolNaming } from "./tools.ts"

/** The facts about one agent that the protocol does not provide. */
export interface AcpAgent {
  /** The part of the backend's name after `acp:`. */
  readonly name: string
  /** As errors name it. */
  readonly title: string
  readonly command: string
  readonly args: readonly string[]
  /** The commands that install it and log in. */
  readonly install: string
  readonly login: string
  /** Variables of the host with its login and its servers. */
  readonly passEnv: readonly string[]
  /** Variables that it needs so that it asks before it acts. They precede those of the user. */
  readonly env: Readonly<Record<string, string>>
  /** How it is started so that it asks, and without some of its tools. Absent: it cannot be. `given`: the user's variables. */
  confine?(without: readonly string[], given: (name: string) => string | undefined): Confinement
  /** Settings that count where the user has none. */
  readonly defaults?: DefaultSettings
  /** Whose models it uses. */
  readonly provider: string
  /** How a model is chosen at the start. Absent: through the protocol. */
  modelArgs?(model: string): readonly string[]
  readonly naming: ToolNaming
  readonly enforcement: readonly ToolEnforcement[]
  readonly reportsCost: boolean
  /** `turn`: it reports the tokens of each request. `end`: only those of a whole prompt. */
  readonly metering: "turn" | "end"
  /** Its counts of tokens are those of its process, not of one prompt. */
  readonly countsProcess?: true
  /** Its counts of tokens are those of the last request of a prompt. */
  readonly countsLastRequest?: true
  /** It repeats failed requests itself, and cannot be kept from it. */
  readonly retries?: true
  /** It checks the arguments of MCP tools, and asks about every call that passes. */
  readonly checksArguments?: true
  /** The mode and the settings of a session in which it asks before it acts. */
  readonly asks?: { readonly mode?: string; readonly settings?: Readonly<Record<string, string>> }
  /** Files of a workspace that it runs without a question. They may answer its questions, too. */
  readonly runsUnasked?: readonly string[]
  /** It uses MCP servers in trusted folders only. */
  readonly trust?: FolderTrust
  /** True for a call that it did not run, although it reports a result. */
  rejects?(args: JsonObject): boolean
  /** It reports failures of its model as text of the model. */
  readonly tellsErrors?: true
  /** A session that is opened in the minute of its creation is lost, and damaged. */
  readonly loadsNextMinute?: true
}

/** Arguments and variables of an agent. `file`: one that outlives the session, whose path follows the arguments. */
export interface Confinement {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly file?: { readonly name: string; readonly text: string }
}

/** How to start an agent so that it may or may not use files of the workspace that can start programs and set variables. */
export interface FolderTrust {
  readonly variable: string
  /** The files that it would use. Without any of them there is nothing to trust. */
  readonly files: readonly string[]
  /** Variables that it takes from such a file in any case, unless they are set. */
  readonly taken: readonly string[]
}

/** A file of settings with the lowest precedence, by the variable that names it. */
interface DefaultSettings {
  readonly variable: string
  readonly text: string
  /** Files that it would replace: if there is one, it stays. */
  replaces(given: (name: string) => string | undefined): readonly string[]
}

const traits: Readonly<Record<string, Pick<OwnTool, "effect" | "risk">>> = {
  Bash: { effect: "once", risk: "high" },
  Write: { effect: "repeatable", risk: "medium" },
  Edit: { effect: "once", risk: "medium" },
  ApplyPatch: { effect: "once", risk: "medium" },
}

/** An agent of which only its command is known. It decides itself what it asks about. */
export function unknownAgent(name: string, command: string, args: readonly string[]): AcpAgent {
  return {
    ...{ name, title: name, command, args },
    install: `see the documentation of ${name}`,
    login: `Log in with ${command}.`,
    passEnv: [],
    env: {},
    provider: "any",
    naming: {
      nativeName: nameWithoutKind,
      isCertain: false,
      serverTool: (server, tool) => [`mcp__${server}__${mcpSafe(tool)}`, `${server}-${tool}`, `${server}_${tool}`],
      known: kindTools,
    },
    enforcement: [enforced("*", { gate: "vendor", exactArguments: false, ledger: "result" })],
    reportsCost: false,
    metering: "end",
  }
}

/** Known by its documentation only. */
export const cursorAgent: AcpAgent = {
  ...unknownAgent("cursor", "cursor-agent", ["acp"]),
  title: "Cursor",
  install: "curl https://cursor.com/install -fsS | bash",
  login: "Run `cursor-agent login`, or set CURSOR_API_KEY.",
  passEnv: ["CURSOR_API_KEY", "CURSOR_AUTH_TOKEN"],
}

/** A call is announced under the name of its tool; its later title describes what it does. */
export function announcedName({ isAnnounced, firstTitle }: SeenCall): string | undefined {
  return isAnnounced ? firstTitle : undefined
}

/** Only tools without a kind are announced under their names. Other titles are the model's description of the call. */
export function nameWithoutKind(call: SeenCall): string | undefined {
  return call.kind === "other" ? announcedName(call) : undefined
}

/** The agent's own names of tools. */
export function withoutNative(known: readonly OwnTool[], without: readonly string[]): readonly string[] {
  return known.filter(({ name }) => without.includes(name)).map(({ nativeName }) => nativeName)
}

export function enforced(tools: string, given: Partial<ToolEnforcement>): ToolEnforcement {
  const { gate = "ours", exactArguments = true, ledger = "intent" } = given
  return { tools, gate, rewrite: false, failsClosed: true, exactArguments, ledger }
}

/** The tools of an agent: the name in policies, and its own. */
export function tools(names: Readonly<Record<string, string>>): readonly OwnTool[] {
  return Object.entries(names).map(([name, nativeName]) => {
    const { effect, risk } = traits[name] ?? { effect: "none", risk: "low" }
    return { name, nativeName, effect, risk }
  })
}
