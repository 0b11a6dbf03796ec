import type { ErrorCode } from "../contract/error.ts"
import type { FaultOrder } from "./faults.ts"
import { check, type ProviderCase, ProviderScene, same, TEXT } from "./provider-bench.ts"

/** Cases about failures. */
export const failureCases: readonly ProviderCase[] = [
  {
    name: "an unknown API key is an auth failure with a fix",
    async run(bench) {
      const error = await new ProviderScene(bench, "Hi", null, { apiKey: "wrong", knownKey: "right" }).failure()
      same(error.code, "auth", "the code")
      check(!JSON.stringify(error.toJSON()).includes("wrong"), "the error must not contain the key")
      check(error.fix?.includes("API_KEY") === true, `the fix must name the variable: ${error.fix}`)
    },
  },
  failsWith("rate_limited", { kind: "status", status: 429, retryAfter: "7" }, true),
  failsWith("overloaded", { kind: "status", status: 529 }, true),
  failsWith("provider_error", { kind: "status", status: 500 }, true),
  failsWith("provider_error", { kind: "status", status: 502 }, true),
  failsWith(["provider_error", "overloaded"], { kind: "status", status: 503 }, true),
  failsWith("auth", { kind: "status", status: 401 }, false),
  failsWith("auth", { kind: "status", status: 403 }, false),
  failsWith("billing", { kind: "status", status: 402 }, false),
  failsWith("model_not_found", { kind: "status", status: 404 }, false),
  failsWith("invalid_request", { kind: "status", status: 400 }, false),
  failsWith("context_overflow", { kind: "status", status: 413 }, false),
  failsWith(["provider_error", "overloaded"], { kind: "error-event", type: "server_error", message: "Boom" }, true),
  failsWith("stream_malformed", { kind: "malformed" }, false),
  failsWith("stream_incomplete", { kind: "cut", atByte: 300 }, true),
  failsWith("network", { kind: "reset", atByte: 300 }, true),
  {
    name: "repeated frames do not duplicate a text or a call",
    async run(bench) {
      const parts = [{ text: TEXT }, { toolCall: { name: "Read", args: { path: "a.md" } } }]
      const scene = new ProviderScene(bench, { parts }, { kind: "duplicate" })
      try {
        const answer = await scene.ask()
        same(answer.parts.length, 2, "the parts")
        same(answer.parts[0], { type: "text", text: TEXT }, "the text")
      } catch {
        same(
          (await new ProviderScene(bench, { parts }, { kind: "duplicate" }).failure()).code,
          "stream_malformed",
          "code",
        )
      }
    },
  },
  {
    name: "a slow stream that keeps sending is read to its end",
    async run(bench) {
      const scene = new ProviderScene(bench, "Hi.", { kind: "slow", bytesPerSecond: 20_000 })
      same((await scene.ask()).parts, [{ type: "text", text: "Hi." }], "the parts")
    },
  },
  stalls("before the first byte", 0, { firstByteMs: 60 }),
  stalls("between two chunks", 2500, { firstByteMs: 2000, idleMs: 60 }),
  {
    name: "an abort ends the call",
    async run(bench) {
      const scene = new ProviderScene(bench, { parts: [{ text: TEXT.repeat(40) }] }, { kind: "stall", atByte: 4000 })
      scene.abortAtStart = true
      await scene.failure()
    },
  },
]

function failsWith(code: ErrorCode | readonly ErrorCode[], fault: FaultOrder, retryable: boolean): ProviderCase {
  const codes = [code].flat()
  const { kind, ...details } = fault
  return {
    name: `${kind}${"status" in details ? ` ${details.status}` : ""} is ${codes.join(" or ")}`,
    async run(bench) {
      const error = await new ProviderScene(bench, TEXT, fault).failure()
      check(codes.includes(error.code), `the code: ${error.code} (${error.message})`)
      same(error.retryable, retryable, "retryable")
      if (error.code !== "network") check((error.requestId ?? "") !== "", "the failure must contain the request's id")
      if (fault.kind === "status" && fault.retryAfter) same(error.retryAfterMs, 7000, "the retry delay")
    },
  }
}

function stalls(when: string, atByte: number, deadlines: { firstByteMs: number; idleMs?: number }): ProviderCase {
  return {
    name: `a server that stalls ${when} is stream_stalled`,
    async run(bench) {
      const error = await new ProviderScene(bench, TEXT.repeat(10), { kind: "stall", atByte }, { deadlines }).failure()
      same([error.code, error.retryable], ["stream_stalled", true], "code and retryable")
    },
  }
}
