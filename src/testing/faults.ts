import type { Exchange, Frame, Protocol } from "./protocols/protocol.ts"

/** One fault for one request. Bytes and frames are counted along the body of the stream, from 0. */
export type FaultOrder =
  /** No stream: this status with the protocol's error body. */
  | {
      readonly kind: "status"
      readonly status: number
      readonly retryAfter?: string
      readonly type?: string
      readonly message?: string
    }
  /** After this many bytes: the body ends as if complete, the connection breaks, or nothing more comes. */
  | { readonly kind: "cut" | "reset" | "stall"; readonly atByte: number }
  /** The data of one frame is invalid JSON. Default: the frame in the middle. */
  | { readonly kind: "malformed"; readonly atFrame?: number }
  /**
   * Every frame that adds nothing to text or arguments is sent twice (Anthropic: message_start, ping,
   * content_block_stop). A client must treat each pair as one or fail with a typed error; it must never duplicate a
   * text or a call.
   */
  | { readonly kind: "duplicate" }
  /** At least one byte at a time. */
  | { readonly kind: "slow"; readonly bytesPerSecond: number }
  /** The server's own error event replaces a frame and all after it. Default: the frame in the middle. */
  | { readonly kind: "error-event"; readonly type: string; readonly message: string; readonly atFrame?: number }

/** The faults: a list, one entry per request in order, or a function. */
export type Faults<Request> =
  | readonly (FaultOrder | null | undefined)[]
  | ((request: Request) => FaultOrder | null | undefined)

/** The behaviour of a stream's body: its chunks, speed and end. */
interface BodyPlan {
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
  readonly ending: "close" | "reset" | "stall"
  readonly bytesPerSecond?: number
}

export function planBody(
  frames: readonly Frame[],
  fault: FaultOrder | undefined,
  protocol: Protocol,
  exchange: Exchange,
): BodyPlan {
  const chunks = faultyTexts(frames, fault, protocol, exchange).map((text) => encoder.encode(text))
  switch (fault?.kind) {
    case "cut":
    case "reset":
    case "stall":
      return { chunks: firstBytes(chunks, fault.atByte), ending: fault.kind === "cut" ? "close" : fault.kind }
    case "slow":
      return { chunks, ending: "close", bytesPerSecond: fault.bytesPerSecond }
    default:
      return { chunks, ending: "close" }
  }
}

/**
 * The requests whose answers have not ended. A request's signal follows the caller's only while the request exists, and what waits
 * for nothing but that signal has no other reference to it.
 */
export const openRequests = new Set<Request>()

/** Provides a chunk only on demand, so that everything before a reset has been read. */
export function streamBody(plan: BodyPlan, request: Request): ReadableStream<Uint8Array<ArrayBuffer>> {
  const source = plan.bytesPerSecond === undefined ? plan.chunks.values() : pieces(plan.chunks, pieceSize(plan))
  let timer: ReturnType<typeof setTimeout> | undefined
  let abort: (() => void) | undefined
  const release = () => {
    clearTimeout(timer)
    if (abort !== undefined) request.signal.removeEventListener("abort", abort)
    openRequests.delete(request)
  }
  return new ReadableStream(
    {
      start(controller) {
        openRequests.add(request)
        abort = () => {
          release()
          controller.error(request.signal.reason)
        }
        // It may have been aborted before its answer began.
        if (request.signal.aborted) abort()
        else request.signal.addEventListener("abort", abort)
      },
      async pull(controller) {
        const next = source.next()
        if (next.done !== true) {
          if (plan.bytesPerSecond !== undefined) {
            const delayMs = (next.value.length * 1000) / plan.bytesPerSecond
            await new Promise<void>((resolve) => {
              timer = setTimeout(resolve, delayMs)
            })
          }
          if (!request.signal.aborted) controller.enqueue(next.value)
          return
        }
        if (plan.ending === "stall") return new Promise<void>(() => {})
        release()
        if (plan.ending === "close") controller.close()
        else controller.error(new Error("connection reset by the simulator"))
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  )
}

const encoder = new TextEncoder()

function faultyTexts(
  frames: readonly Frame[],
  fault: FaultOrder | undefined,
  protocol: Protocol,
  exchange: Exchange,
): readonly string[] {
  const middle = Math.floor(frames.length / 2)
  switch (fault?.kind) {
    case "malformed": {
      const broken = fault.atFrame ?? middle
      return frames.map(({ text }, index) => (index === broken ? text.replace(/^data: .*$/m, notJson) : text))
    }
    case "duplicate":
      return frames.flatMap(({ text, bookkeeping }) => (bookkeeping ? [text, text] : [text]))
    case "error-event": {
      const kept = frames.slice(0, fault.atFrame ?? middle)
      return [...kept, protocol.errorFrame(fault.type, fault.message, exchange)].map(({ text }) => text)
    }
    default:
      return frames.map(({ text }) => text)
  }
}

const notJson = 'data: {"type": this is not JSON'

function firstBytes(chunks: readonly Uint8Array<ArrayBuffer>[], count: number): readonly Uint8Array<ArrayBuffer>[] {
  const kept: Uint8Array<ArrayBuffer>[] = []
  let left = count
  for (const chunk of chunks) {
    if (left <= 0) break
    kept.push(chunk.subarray(0, left))
    left -= chunk.length
  }
  return kept
}

/** Timers have millisecond resolution: above a thousand bytes per second, a piece is the amount of one tick. */
function pieceSize(plan: BodyPlan): number {
  return Math.max(1, Math.floor((plan.bytesPerSecond ?? 0) / 1000))
}

function* pieces(chunks: readonly Uint8Array<ArrayBuffer>[], size: number): Generator<Uint8Array<ArrayBuffer>> {
  for (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += size) yield chunk.subarray(start, start + size)
  }
}
