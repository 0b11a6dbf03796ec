import { LonghaulError } from "../../contract/error.ts"
import type { Served } from "../../hosts/node/http/serve.ts"
import type { FaultOrder, Simulator } from "../../testing/index.ts"
import {
  type Command,
  commonOptions,
  invocation,
  noPositionals,
  numberOption,
  parseCommandLine,
  UsageError,
} from "../arguments.ts"
import { clip, localTime, reasonOf } from "../format.ts"
import type { Output } from "../output.ts"

const options = {
  port: { type: "string", value: "<n>", help: "Port on 127.0.0.1. Default: any free one." },
  fault: {
    type: "string",
    multiple: true,
    value: "<kind>[:n]",
    values: ["401", "429", "500", "529", "cut", "reset", "stall", "malformed"],
    help: "Fail the first request, or the first n. Repeat it to fail later requests too.",
  },
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Serve a simulated model provider until Ctrl-C: a script that calls the client's tools.",
  usage: "[options]",
  options,
  notes: [
    "Faults: a status such as 401, 429, 500 or 529; cut, reset or stall in the middle of the response; malformed.",
    "With --json: one line when it is listening, then one per request.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("simulate", args, options)
    noPositionals("simulate", positionals)
    const port = numberOption("port", values.port, { from: 0, to: 65_535, whole: true }) ?? 0
    const waiting = (values.fault ?? []).flatMap(parseFault)
    const ordered = new Map<number, FaultOrder>()

    const { createSimulator } = await import("../../testing/index.ts")
    const { simulatedAssistant } = await import("../simulated-assistant.ts")
    const simulator = createSimulator({
      script: simulatedAssistant,
      faults({ index }) {
        const fault = waiting.shift()
        if (fault) ordered.set(index, fault)
        return fault
      },
    })
    const served = await listen(port, async (request) => {
      const response = await simulator.fetch(request)
      logRequest(simulator, ordered, response, values.json ?? false, output)
      return response
    })
    announce(served, values.json ?? false, output)
    await stopSignal()
    await served.close()
    return 0
  },
}

async function listen(port: number, handler: (request: Request) => Promise<Response>): Promise<Served> {
  const { serve } = await import("../../hosts/node/http/serve.ts")
  try {
    return await serve(handler, { port })
  } catch (cause) {
    throw new LonghaulError("config_invalid", `Cannot listen on port ${port}: ${reasonOf(cause)}.`, {
      cause,
      fix: "Choose another --port, or omit it.",
    })
  }
}

function announce({ url }: Served, json: boolean, output: Output): void {
  const environment = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "x" }
  const model = "anthropic:simulated"
  if (json) {
    output.printJson({ type: "listening", url, model, environment })
    return
  }
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  output.print(
    `Simulated provider (a script, not an LLM) at ${url}. Press Ctrl-C to stop. Use it from another terminal:`,
  )
  output.print(`  ${variables.join(" ")} ${invocation()} run --model ${model} "List the files here and read one"`)
}

function logRequest(
  { requests }: Simulator,
  ordered: ReadonlyMap<number, FaultOrder>,
  response: Response,
  json: boolean,
  output: Output,
): void {
  // The simulator numbers its responses, because several requests may be active at once.
  const index = Number(/\d+$/.exec(response.headers.get("request-id") ?? "")?.[0])
  const request = requests[index]
  if (request === undefined) return
  const fault = ordered.get(index)
  const facts = {
    index,
    path: request.path,
    status: response.status,
    model: request.model,
    messages: request.messages.length,
    tools: request.tools.length,
    toolResults: request.lastToolResults.length,
    ...(fault && { fault: fault.kind }),
  }
  if (json) {
    output.printJson({ type: "request", at: Date.now(), ...facts, text: request.lastUserText })
    return
  }
  const words = Object.entries(facts).map(([name, value]) => (name === "index" ? `#${value}` : `${name}=${value}`))
  output.print(
    `${localTime(Date.now()).slice(11)} ${clip(words.join(" "), 200)} ${JSON.stringify(clip(request.lastUserText, 60))}`,
  )
}

function parseFault(text: string): FaultOrder[] {
  const [, kind = "", times = "1"] = /^([a-z]+|[45]\d\d)(?::(\d{1,4}))?$/.exec(text) ?? []
  const order = faultOf(kind)
  if (order !== undefined && Number(times) > 0) return Array.from({ length: Number(times) }, () => order)
  throw new UsageError(
    `Invalid value for --fault: ${JSON.stringify(text)}.`,
    "Use a status such as 429, or cut, reset, stall or malformed; append :n for the first n requests.",
  )
}

function faultOf(kind: string): FaultOrder | undefined {
  if (/^\d+$/.test(kind)) return { kind: "status", status: Number(kind), ...(kind === "429" && { retryAfter: "1" }) }
  // Far enough into the response that its text has begun.
  if (kind === "cut" || kind === "reset" || kind === "stall") return { kind, atByte: 600 }
  return kind === "malformed" ? { kind } : undefined
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve())
  })
}
