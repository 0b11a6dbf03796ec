import type { LineChannel, ProgramExit } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { onAbort } from "../../lib/abort.ts"
import { isJsonObject } from "../../lib/json.ts"
import { firstWords, lastWords } from "../../lib/text/before-cut.ts"

export interface JsonRpcOptions {
  /** The program, as errors name it. */
  readonly name: string
  /** False: messages carry no `jsonrpc` field. */
  readonly versioned: boolean
  /** The deadline of a reply in milliseconds, unless a request has its own. */
  readonly replyMs: number
  /** Called for every line, before it is read. */
  onLine?(): void
  /** Called in the order of arrival. Must not throw. */
  onNotification(method: string, params: Json): void
  /** Answers a request of the program. Undefined: the method is unknown, and the program gets an error at once. */
  onRequest(method: string, params: Json): Promise<Json> | undefined
  /** Turns an error reply into the error that `request` rejects with. */
  toError(reply: ErrorReply): LonghaulError
}

/** An error that the program replied with. */
export interface ErrorReply {
  readonly method: string
  readonly code: number
  readonly message: string
  readonly data?: Json | undefined
}

export interface RequestOptions {
  /** Null: the reply may take any time, for example as long as a command runs. */
  readonly replyMs?: number | null
  /** Gives the reply up. The program is not informed. */
  readonly signal?: AbortSignal
}

/**
 * One side of a JSON-RPC conversation over lines, in which both sides send requests. Their ids are separate and may be
 * equal. When the channel ends or breaks the protocol, every pending request rejects with the reason.
 */
export class JsonRpc {
  /** Resolves when no further messages will arrive, with the reason. Never rejects. */
  readonly ended: Promise<LonghaulError>
  readonly #channel: LineChannel
  readonly #options: JsonRpcOptions
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  #reason: LonghaulError | undefined

  constructor(channel: LineChannel, options: JsonRpcOptions) {
    this.#channel = channel
    this.#options = options
    this.ended = this.#read()
  }

  request(method: string, params?: Json, options: RequestOptions = {}): Promise<Json> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      if (this.#reason) return reject(this.#reason)
      const { replyMs = this.#options.replyMs, signal } = options
      const timer = replyMs === null ? undefined : setTimeout(() => this.#fail(id, this.#late(method)), replyMs)
      const unlink = onAbort(signal, () => this.#fail(id, this.#abandoned(method)))
      const done = () => {
        clearTimeout(timer)
        unlink()
      }
      this.#pending.set(id, { method, resolve, reject, done })
      // If the channel has ended, the reader knows more about the reason, so it rejects the request.
      this.#send({ id, method, ...(params !== undefined && { params }) }).catch(() => undefined)
    })
  }

  /** Resolves when it is written, also if the program has ended: `ended` has the reason. */
  async notify(method: string, params?: Json): Promise<void> {
    await this.#send({ method, ...(params !== undefined && { params }) }).catch(() => undefined)
  }

  async #read(): Promise<LonghaulError> {
    this.#reason = await this.#untilEnd()
    for (const id of [...this.#pending.keys()]) this.#fail(id, this.#reason)
    return this.#reason
  }

  async #untilEnd(): Promise<LonghaulError> {
    try {
      for await (const line of this.#channel.lines) {
        this.#options.onLine?.()
        if (line.trim() !== "" && !this.#take(parsed(line))) return this.#unreadable(line)
      }
      return this.#crashed(await this.#channel.exit)
    } catch (error) {
      if (LonghaulError.is(error)) return error
      return new LonghaulError("backend_crashed", `The output of ${this.#options.name} could not be read.`, {
        cause: error,
      })
    }
  }

  /** False: it is not a message of the protocol. */
  #take(message: Json | undefined): boolean {
    if (!isJsonObject(message)) return false
    const { id, method, params = null } = message
    if (typeof method === "string") {
      if (id === undefined) this.#options.onNotification(method, params)
      else if (isId(id)) this.#answer(id, method, params)
      else return false
      return true
    }
    if (method !== undefined || !isId(id)) return false
    if (!("result" in message) && !isJsonObject(message.error)) return false
    // A reply after its deadline no longer belongs to any request.
    if (typeof id === "number") this.#settle(id, message)
    return true
  }

  #settle(id: number, { result = null, error }: JsonObject): void {
    const pending = this.#pending.get(id)
    if (!pending) return
    if (isJsonObject(error)) {
      this.#fail(id, this.#options.toError(errorReply(pending.method, error)))
      return
    }
    this.#pending.delete(id)
    pending.done()
    pending.resolve(result)
  }

  #fail(id: number, error: LonghaulError): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    pending?.done()
    pending?.reject(error)
  }

  #answer(id: string | number, method: string, params: Json): void {
    const reply = (body: JsonObject) => this.#send({ id, ...body }).catch(() => undefined)
    const answer = this.#options.onRequest(method, params)
    if (answer === undefined) {
      void reply({ error: { code: METHOD_NOT_FOUND, message: `The method ${method} is not supported.` } })
      return
    }
    void answer.then(
      (result) => reply({ result }),
      () => reply({ error: { code: INTERNAL_ERROR, message: `The answer to ${method} failed.` } }),
    )
  }

  #send(body: JsonObject): Promise<void> {
    return this.#channel.send(JSON.stringify(this.#options.versioned ? { jsonrpc: "2.0", ...body } : body))
  }

  #late(method: string): LonghaulError {
    return new LonghaulError("stream_stalled", `${this.#options.name} did not reply to ${method} in time.`, {
      fix: "Resume the run, or raise the reply deadline.",
    })
  }

  #abandoned(method: string): LonghaulError {
    return new LonghaulError("cancelled", `The reply of ${this.#options.name} to ${method} is no longer needed.`)
  }

  #unreadable(line: string): LonghaulError {
    return new LonghaulError("backend_protocol", `${this.#options.name} sent a line that is not a JSON-RPC message.`, {
      fix: "Check that the command starts the right program, in a supported version.",
      data: { line: firstWords(line, SHOWN_CHARACTERS) },
    })
  }

  #crashed({ code, signal, stderr }: ProgramExit): LonghaulError {
    const how = signal === null ? `with code ${code}` : `by ${signal}`
    const said = lastWords(stderr.trim(), SHOWN_CHARACTERS)
    return new LonghaulError(
      "backend_crashed",
      `${this.#options.name} ended unexpectedly, ${how}${said === "" ? "." : `: ${said}`}`,
      { fix: "Resume the run. If it happens again, start the program by hand to see why.", data: { code, signal } },
    )
  }
}

interface Pending {
  readonly method: string
  resolve(result: Json): void
  reject(error: LonghaulError): void
  /** Releases its timer and its signal. */
  done(): void
}

function parsed(line: string): Json | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function isId(id: Json | undefined): id is string | number {
  return typeof id === "string" || typeof id === "number"
}

function errorReply(method: string, { code, message, data }: JsonObject): ErrorReply {
  return {
    method,
    code: typeof code === "number" ? code : INTERNAL_ERROR,
    message: typeof message === "string" ? message : "",
    data,
  }
}

/** Both defined by JSON-RPC. */
const METHOD_NOT_FOUND = -32601
const INTERNAL_ERROR = -32603
const SHOWN_CHARACTERS = 2000
