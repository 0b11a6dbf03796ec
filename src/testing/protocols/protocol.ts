import type { Json } from "../../contract/json.ts"
import type { CompleteAnswer, SimulatedRequest } from "../simulated.ts"

/** One protocol of model servers, from the server's side. Pure: the simulator does the rest. */
export interface Protocol {
  readonly name: string
  /** Prefix of the ids of tool calls without a scripted id. */
  readonly callIdPrefix: string
  /** The response header with the request's id. */
  readonly requestIdHeader: string
  matches(path: string): boolean
  /** Parses as much as possible: `refuse` validates, this never throws. */
  parse(path: string, body: Json): ParsedRequest
  /** Why the real server would reject this request. */
  refuse(request: SimulatedRequest, apiKey: string | undefined): Refusal | undefined
  /** The whole stream, in order. */
  frames(answer: CompleteAnswer, exchange: Exchange): readonly Frame[]
  /** An error in the middle of a stream. */
  errorFrame(type: string, message: string, exchange: Exchange): Frame
  /** The body of a response that is not 200. */
  error(refusal: Refusal, exchange: Exchange): string
}

export type ParsedRequest = Pick<
  SimulatedRequest,
  "model" | "system" | "messages" | "tools" | "outputSchema" | "settings"
>

export interface Exchange {
  readonly requestId: string
  readonly messageId: string
  readonly model: string
}

export interface Refusal {
  readonly status: number
  /** Default: the protocol's name for this status. */
  readonly type?: string
  readonly message?: string
}

/** One server-sent event with its empty line. */
export interface Frame {
  readonly text: string
  /** Adds nothing to the answer's text or arguments: the `duplicate` fault repeats these, and only these. */
  readonly bookkeeping: boolean
}
