import type { CallToolResult, InputRequiredResult } from "@modelcontextprotocol/client"
import type { Json, JsonObject } from "../../contract/json.ts"
import { type Answered, type ToolContext, ToolError } from "../../contract/tool.ts"
import { delay } from "../../lib/abort.ts"
import { isJsonObject } from "../../lib/json.ts"
import { sha256 } from "../../lib/sha256.ts"
import type { Retry, ServerConnection } from "./connection.ts"
import { identityOf } from "./pins.ts"
import { questionText, readAnswer, readQuestion } from "./questions.ts"

/**
 * Calls a tool whose server may first want input: then it has not acted yet. Questions to a person become questions of the run; the
 * call continues with the answer, in any process.
 */
export async function callWithInput(
  connection: ServerConnection,
  tool: string,
  args: JsonObject,
  context: CallContext,
): Promise<CallToolResult> {
  const { answered, signal, progress } = context
  const canAsk = context.ask !== undefined
  let round = answered && (await withAnswer(connection, answered, context))
  for (let leg = 0; leg < MAX_LEGS; leg++) {
    const retry = round && (await retryOf(connection, round, signal))
    const result = await connection.callTool(tool, args, { signal, progress, canAsk, retry })
    if (!isInputRequired(result)) return result
    round = await askedFor(connection, readRound(connection, result), context)
  }
  throw new ToolError("io", `The MCP server ${connection.name} keeps asking for more input.`)
}

export type CallContext = Pick<ToolContext, "signal" | "progress" | "ask" | "answered">

/** The input that a server needs before it acts, and the part of it that exists. Kept in the journal while a person is asked. */
interface Round {
  /** Another server must not get the answer. */
  readonly server: string
  readonly requestState?: string
  readonly requests: { readonly [key: string]: Json }
  readonly responses: { readonly [key: string]: Json }
}

/** Asks a person for the first answer that is missing: then it rejects. */
async function askedFor(
  connection: ServerConnection,
  round: Round,
  { ask }: CallContext,
  problem?: string,
): Promise<Round> {
  const key = openQuestion(round)
  if (key === undefined) return round
  const question = readQuestion(connection.name, paramsOf(round.requests[key]))
  if (!ask) {
    const text = `The MCP server ${connection.name} needs an answer from a person, and no one can be asked here.`
    throw new ToolError("denied", text)
  }
  return ask(connection.masked(questionText(connection.name, question, problem)), { ...round })
}

async function withAnswer(connection: ServerConnection, answered: Answered, context: CallContext): Promise<Round> {
  const round = keptRound(answered.state)
  if (round?.server !== serverDigest(connection)) {
    const text = `The MCP server ${connection.name} is not the one that asked: the call was not continued.`
    throw new ToolError("denied", text)
  }
  const key = openQuestion(round)
  if (key === undefined) return round
  const question = readQuestion(connection.name, paramsOf(round.requests[key]))
  const read = await readAnswer(question, answered)
  if ("problem" in read) return askedFor(connection, round, context, read.problem)
  return askedFor(connection, { ...round, responses: { ...round.responses, [key]: read.response } }, context)
}

/** The parameters with which the call is sent again. What needs no person is answered now. */
async function retryOf(connection: ServerConnection, round: Round, signal: AbortSignal): Promise<Retry> {
  const responses: { [key: string]: Json } = { ...round.responses }
  for (const [key, request] of Object.entries(round.requests)) {
    if (!Object.hasOwn(responses, key)) responses[key] = await connection.answer(methodOf(request), paramsOf(request))
  }
  const isEmpty = Object.keys(responses).length === 0
  // A server that only needs the call again is busy.
  if (isEmpty) await delay(BUSY_MS, signal)
  return {
    ...(!isEmpty && { inputResponses: responses }),
    requestState: round.requestState,
  }
}

function readRound(connection: ServerConnection, { inputRequests = {}, requestState }: InputRequiredResult): Round {
  const { name } = connection
  const bytes = (text: string) => new TextEncoder().encode(text).length
  if (requestState !== undefined && bytes(requestState) > MAX_STATE_BYTES) throw tooLarge(name, "state")
  const text = JSON.stringify(inputRequests)
  if (bytes(text) > MAX_STATE_BYTES) throw tooLarge(name, "question")
  if (connection.masked(text) !== text || connection.masked(requestState ?? "") !== (requestState ?? "")) {
    throw new ToolError(
      "denied",
      `The MCP server ${name} asked with a token of this client, which must not be recorded.`,
    )
  }
  return {
    server: serverDigest(connection),
    ...(requestState !== undefined && { requestState }),
    // Came as JSON.
    requests: JSON.parse(text) as { readonly [key: string]: Json },
    responses: {},
  }
}

/** The state that an earlier process kept. Undefined: it does not have this form. */
function keptRound(state: Json): Round | undefined {
  const { server, requestState, requests, responses } = isJsonObject(state) ? state : {}
  if (typeof server !== "string" || !isJsonObject(requests) || !isJsonObject(responses)) return undefined
  return { server, requests, responses, ...(typeof requestState === "string" && { requestState }) }
}

function openQuestion({ requests, responses }: Round): string | undefined {
  return Object.keys(requests).find((key) => methodOf(requests[key]) === ELICIT && !Object.hasOwn(responses, key))
}

function methodOf(request: Json | undefined): string {
  return isJsonObject(request) && typeof request.method === "string" ? request.method : ""
}

function paramsOf(request: Json | undefined): Json | undefined {
  return isJsonObject(request) ? request.params : undefined
}

function serverDigest({ name, server }: ServerConnection): string {
  return sha256(`${name} ${identityOf(server)}`)
}

function isInputRequired(result: CallToolResult | InputRequiredResult): result is InputRequiredResult {
  return "resultType" in result && result.resultType === "input_required"
}

function tooLarge(server: string, what: string): ToolError {
  const limit = `${MAX_STATE_BYTES / 1024} KB`
  return new ToolError("io", `The MCP server ${server} asked with a ${what} of more than ${limit}: no one was asked.`)
}

const ELICIT = "elicitation/create"
/** Requests within one attempt at a call. */
const MAX_LEGS = 10
const MAX_STATE_BYTES = 64 * 1024
const BUSY_MS = 250
