import type { Json } from "../contract/json.ts"
import { checkArgument, checkShape, listOf, required } from "../lib/schema/shape.ts"
import type { FaultOrder, Faults } from "./faults.ts"
import { openRequests, planBody, streamBody } from "./faults.ts"
import { anthropicProtocol } from "./protocols/anthropic.ts"
import { googleProtocol } from "./protocols/google.ts"
import { openAiChatProtocol } from "./protocols/openai-chat.ts"
import { openAiResponsesProtocol } from "./protocols/openai-responses.ts"
import type { Exchange, Frame, ParsedRequest, Protocol, Refusal } from "./protocols/protocol.ts"
import type { SimulatedAnswer, SimulatedRequest } from "./simulated.ts"
import { completeAnswer } from "./simulated.ts"
import { answerField, requestShape } from "./simulated-shapes.ts"

export interface SimulatorOptions {
  /** The model: its answer to a request. An exception becomes a 400, which is not retried. */
  readonly script: (request: SimulatedRequest) => SimulatedAnswer | Promise<SimulatedAnswer>
  /** A list is used one entry per request on a known path; null is a request without a fault. */
  readonly faults?: Faults<SimulatedRequest>
  /** The only accepted key. Default: any. */
  readonly apiKey?: string | undefined
}

/** A model server as a fetch handler: pass `fetch` to `serve`, or use it instead of the global one. */
export interface Simulator {
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>
  /** Every received request, including rejected ones. */
  readonly requests: readonly SimulatedRequest[]
}

export function createSimulator(options: SimulatorOptions): Simulator {
  checkShape<SimulatorOptions>("createSimulator", options, {
    script: required("function"),
    faults: ["function", listOf("any")],
    apiKey: "text",
  })
  const requests: SimulatedRequest[] = []
  let faultsUsed = 0

  function faultFor(request: SimulatedRequest): FaultOrder | undefined {
    const { faults = [] } = options
    return (typeof faults === "function" ? faults(request) : faults[faultsUsed++]) ?? undefined
  }

  async function answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname
    const text = await request.text()
    const protocol = protocols.find((candidate) => request.method === "POST" && candidate.matches(path))
    const received = describe(requests.length, protocol, path, request.headers, text)
    requests.push(received)

    const speaker = protocol ?? anthropicProtocol
    const exchange = exchangeOf(received)
    if (protocol === undefined) return refusalResponse(speaker, exchange, { status: 404 })
    const fault = faultFor(received)
    if (fault?.kind === "status") return refusalResponse(speaker, exchange, fault, fault.retryAfter)
    const refusal =
      received.body === null
        ? { status: 400, message: "The request body is not valid JSON" }
        : speaker.refuse(received, options.apiKey)
    if (refusal !== undefined) return refusalResponse(speaker, exchange, refusal)

    let frames: readonly Frame[]
    openRequests.add(request)
    try {
      frames = framesOf(protocol, received, await untilAborted(options.script(received), request.signal))
    } catch (error) {
      request.signal.throwIfAborted()
      return refusalResponse(speaker, exchange, { status: 400, message: `The simulator's script threw: ${error}` })
    } finally {
      openRequests.delete(request)
    }
    return new Response(streamBody(planBody(frames, fault, protocol, exchange), request), {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache",
        [protocol.requestIdHeader]: exchange.requestId,
      },
    })
  }

  return {
    requests,
    fetch: (input, init) => answer(input instanceof Request && init === undefined ? input : new Request(input, init)),
  }
}

/**
 * The whole stream of an answer as the simulator sends it without a fault: byte for byte if `request` is a recorded
 * one, and of equal length for a repeated request.
 */
export function renderAnswer(answer: SimulatedAnswer, request: SimulatedRequest = emptyRequest): string {
  checkArgument("answer", answer, answerField("json"))
  checkShape<SimulatedRequest>("renderAnswer", request, requestShape, "request.")
  const protocol = protocols.find(({ name }) => name === request.protocol) ?? anthropicProtocol
  return framesOf(protocol, request, answer)
    .map(({ text }) => text)
    .join("")
}

const protocols: readonly Protocol[] = [anthropicProtocol, googleProtocol, openAiChatProtocol, openAiResponsesProtocol]

const nothingParsed: ParsedRequest = { model: "", messages: [], tools: [], settings: {} }

const emptyRequest: SimulatedRequest = {
  ...nothingParsed,
  index: 0,
  protocol: anthropicProtocol.name,
  path: "/v1/messages",
  headers: {},
  body: {},
  model: "simulated",
  lastToolResults: [],
  lastUserText: "",
}

function describe(
  index: number,
  protocol: Protocol | undefined,
  path: string,
  headers: Headers,
  text: string,
): SimulatedRequest {
  const body = parseJson(text)
  const parsed = protocol?.parse(path, body) ?? nothingParsed
  const lastAssistant = parsed.messages.findLastIndex(({ role }) => role === "assistant")
  const userTexts = parsed.messages.filter(({ role, text: said }) => role !== "assistant" && said !== "")
  return {
    index,
    protocol: protocol?.name ?? "unknown",
    path,
    headers: Object.fromEntries(headers),
    body,
    ...parsed,
    lastToolResults: parsed.messages.slice(lastAssistant + 1).flatMap(({ toolResults }) => toolResults),
    lastUserText: userTexts.at(-1)?.text ?? "",
  }
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function framesOf(protocol: Protocol, request: SimulatedRequest, answer: SimulatedAnswer): readonly Frame[] {
  const complete = completeAnswer(answer, {
    inputCharacters: JSON.stringify(request.body).length,
    usedIds: new Set(request.messages.flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id))),
    idPrefix: protocol.callIdPrefix,
  })
  return protocol.frames(complete, exchangeOf(request))
}

/** Ids of equal length, so that answers to the same request have the same number of bytes. */
function exchangeOf({ index, model }: SimulatedRequest): Exchange {
  const number = String(index).padStart(6, "0")
  return { requestId: `req_sim_${number}`, messageId: `msg_sim_${number}`, model }
}

function refusalResponse(protocol: Protocol, exchange: Exchange, refusal: Refusal, retryAfter?: string): Response {
  return new Response(protocol.error(refusal, exchange), {
    status: refusal.status,
    headers: {
      "content-type": "application/json",
      [protocol.requestIdHeader]: exchange.requestId,
      ...(retryAfter !== undefined && { "retry-after": retryAfter }),
    },
  })
}

function untilAborted<Value>(value: Value | Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener("abort", abort, { once: true })
    Promise.resolve(value)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort))
  })
}
