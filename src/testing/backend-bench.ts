import type { Feature } from "../contract/capabilities.ts"
import type { Json, JsonObject } from "../contract/json.ts"
import type { RunResult } from "../contract/result.ts"
import type { RuntimeConfig } from "../contract/run.ts"
import type { Runtime } from "../contract/runtime.ts"
import type { Tool } from "../contract/tool.ts"
import type { FaultOrder } from "./faults.ts"
import type { SimulatedAnswer, SimulatedRequest, SimulatedToolCall } from "./simulated.ts"
import type { Simulator } from "./simulator.ts"

/** A backend under test: it runs on a simulated model, through the real program if it has one. */
export interface BackendBench {
  readonly name: string
  /** Cases that it cannot pass, each with the reason. */
  readonly lacks?: Readonly<Record<string, string>>
  /** How the model calls one of the runtime's tools. */
  ours(name: string, args: JsonObject): SimulatedToolCall
  /** How the model writes `text` to a file of the workspace with a tool of the backend. Absent: it has none. */
  readonly own?: OwnWrite
  /** An empty workspace and store, with a model that answers by the script. */
  open(options: PlaceOptions): Promise<BackendPlace>
}

export interface OwnWrite {
  /** The tool's name in policies. */
  readonly tool: string
  call(file: string, text: string): SimulatedToolCall
  /** A rule that makes the same call write other text, if its gate can change arguments. */
  rewrite?(file: string, text: string): Readonly<Record<string, Json>>
}

export interface PlaceOptions {
  readonly script: (request: SimulatedRequest) => SimulatedAnswer | Promise<SimulatedAnswer>
  readonly faults?: (request: SimulatedRequest) => FaultOrder | null
  /** Without credentials. */
  readonly isLoggedOut?: boolean
}

export interface BackendPlace {
  readonly simulator: Simulator
  /** Another runtime over the same store and workspace, as another process would have it. */
  runtime(config?: Partial<RuntimeConfig>): Runtime
  /** Null: it does not exist. */
  read(file: string): Promise<string | null>
  /** The number of programs that were started here and still run. */
  leftovers(): Promise<number>
  close(): Promise<void>
}

/** One requirement of the backend contract; throws if it is violated. */
export interface BackendCase {
  readonly name: string
  /** Only for backends with tools of their own, or that can change the arguments of their calls. */
  readonly needs?: "own" | "rewrite" | Feature
  run(bench: BackendBench): Promise<void>
}

/** Requests of the run itself: vendors also ask for titles and summaries, without tools. */
export function isMain({ tools }: SimulatedRequest): boolean {
  return tools.length > 0
}

/** A model that first makes calls and then answers with what they returned, also if it receives that in a message. */
export function callsThenTells(...calls: readonly SimulatedToolCall[]) {
  return (request: SimulatedRequest): SimulatedAnswer => {
    if (!isMain(request)) return "A title"
    const results = request.messages.flatMap(({ toolResults }) => toolResults.map(({ text }) => text))
    const messages = request.messages.filter(({ role }) => role === "user").map(({ text }) => text)
    const [told] = /( has ended \(|<output call=).*/s.exec(messages.join("\n")) ?? []
    if (results.length === 0 && told === undefined) return { parts: calls.map((toolCall) => ({ toolCall })) }
    return `The tools said: ${[...results, ...(told === undefined ? [] : [told])].join(" | ")}`
  }
}

/** A tool of the runtime that counts what it did. */
export function counting(name = "send", effect: Tool["effect"] = "once") {
  const done: Json[] = []
  const tool: Tool = {
    name,
    description: "Sends a letter.",
    inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    effect,
    concurrent: false,
    risk: "low",
    run(args) {
      const letter = args as { readonly to: string } // Safe: validated against the schema.
      done.push({ ...letter })
      return `letter ${done.length} to ${letter.to}`
    },
  }
  return { tool, done }
}

export const allowAll: Partial<RuntimeConfig> = { policy: { rules: [{ allow: { tool: "*" } }] } }

/** Fails the case with what was found. */
export function check(isTrue: boolean, what: string, found?: unknown): asserts isTrue {
  if (isTrue) return
  throw new Error(found === undefined ? what : `${what}\nFound: ${JSON.stringify(found, undefined, 1)?.slice(0, 4000)}`)
}

export function checkStatus<Status extends RunResult["status"]>(result: RunResult, status: Status): void {
  const { error, text, toolCalls, warnings } = result
  check(result.status === status, `the run must be ${status}`, {
    status: result.status,
    error,
    text,
    toolCalls,
    warnings,
  })
}

/** Uses a runtime of a place and closes it. */
export async function withRuntime<Value>(
  place: BackendPlace,
  config: Partial<RuntimeConfig>,
  work: (runtime: Runtime) => Promise<Value>,
): Promise<Value> {
  const runtime = place.runtime(config)
  try {
    return await work(runtime)
  } finally {
    await runtime.close()
  }
}

/** The backend's own call that writes a file. Only in cases that need it. */
export function ownWrite({ own }: BackendBench, file: string, text: string): SimulatedToolCall {
  check(own !== undefined, "the case needs a tool of the backend")
  return own.call(file, text)
}

/** Opens a place, closes it however the case ends, and checks that nothing is left. */
export async function inPlace(
  bench: BackendBench,
  options: PlaceOptions,
  work: (place: BackendPlace) => Promise<void>,
): Promise<void> {
  const place = await bench.open(options)
  try {
    await work(place)
    const left = await place.leftovers()
    check(left === 0, "no program may be left", left)
  } finally {
    await place.close()
  }
}
