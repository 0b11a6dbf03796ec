import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import type { Loopback } from "../../../src/contract/backend-env.ts"
import type { Json } from "../../../src/contract/json.ts"
import type { ToolOutcome } from "../../../src/contract/tool.ts"
import type { PlaceFacts } from "../backend-place.ts"

/** One thing that happened between a backend and its programs, in the order in which the recorder saw it. */
export type SceneEvent =
  | { readonly type: "start"; readonly program: number; readonly args: readonly string[] }
  /** A line of the backend to the program, and of the program to the backend. */
  | { readonly type: "sent" | "received"; readonly program: number; readonly line: string }
  /** The backend closes the program's input, or ends its processes. */
  | { readonly type: "input-end" | "end"; readonly program: number }
  | { readonly type: "exit"; readonly program: number; readonly code: number | null; readonly signal: string | null }
  | { readonly type: "loopback"; readonly mcp: Loopback["mcp"]; readonly gate: Loopback["gate"] }
  /** The program calls a tool of the runtime, or asks the gate. The answer has the same number. */
  | { readonly type: "call"; readonly number: number; readonly call: ServiceCall }
  | { readonly type: "question"; readonly number: number; readonly question: Json }
  | { readonly type: "answer"; readonly number: number; readonly answer: ToolOutcome | Json }
  /** The model was asked; vendors also ask for titles, without tools. */
  | { readonly type: "model"; readonly hasTools: boolean }
  /** A file that the program has written in the workspace. */
  | { readonly type: "file"; readonly name: string; readonly text: string }

interface ServiceCall {
  readonly name: string
  readonly args: Json
  readonly callId?: string
}

export function sceneFile(backend: string, caseName: string): string {
  const [folder, file] = [backend, caseName].map((name) => name.replaceAll(/[^\w.-]+/g, "-"))
  return fileURLToPath(new URL(`../../backends/recordings/${folder}/${file}.jsonl`, import.meta.url))
}

const installed = fileURLToPath(new URL("../../../.backends/node_modules", import.meta.url))

/** What differs between two places, longest first, with the name that stands for it in a scene. */
export function differing({ workspace, home, url }: PlaceFacts): readonly (readonly [string, string])[] {
  return [
    [workspace, "{workspace}"],
    [home, "{home}"],
    [dirname(workspace), "{place}"],
    [workspace.slice(1), "{workspace-below-root}"],
    [workspace.replaceAll(/[^A-Za-z0-9]/g, "-"), "{workspace-as-name}"],
    [url, "{model}"],
    [installed, "{programs}"],
  ]
}

/** The arguments of a program without the folders above the workspace, which are others on each machine. */
export function withoutFolders(args: readonly string[]): readonly string[] {
  return args.map((argument) => argument.replace(/^projects=\{.*\}$/s, "projects={}"))
}

/** The scene as it is stored: nothing of this place and no token in it, and no text that nobody reads. */
export function neutral(events: readonly SceneEvent[], facts: PlaceFacts): string {
  const tokens = events.flatMap((event) => (event.type === "loopback" ? tokenAndUrl(event.mcp) : []))
  let text = events.map((event) => `${JSON.stringify(event)}\n`).join("")
  for (const [here, name] of [...differing(facts), ...tokens]) text = text.replaceAll(here, name)
  const lines = text
    .replaceAll(/\/tmp\/[\w./-]+/g, "/tmp/file")
    .trimEnd()
    .split("\n")
  return lines.map((line) => `${JSON.stringify(withShortLine(JSON.parse(line)))}\n`).join("")
}

function withShortLine(event: SceneEvent): SceneEvent {
  return event.type === "received" ? { ...event, line: shortened(event.line) } : event
}

function tokenAndUrl({ url, headers }: Loopback["mcp"]): readonly (readonly [string, string])[] {
  const token = headers.authorization?.replace("Bearer ", "") ?? "no token"
  return [
    [new URL(url).origin, "http://127.0.0.1:9"],
    [token, "token"],
  ]
}

/** Descriptions of commands and agents of the vendor, for example. */
function shortened(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line, (_, value) => (isLong(value) ? value.slice(0, MAX_LENGTH) : value)))
  } catch {
    return line
  }
}

function isLong(value: unknown): value is string {
  return typeof value === "string" && value.length > MAX_LENGTH
}

const MAX_LENGTH = 200

/** Ids that are new in each run. */
export const ids = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}/g
