import type { ErrorCode } from "../contract/error.ts"
import type { Tool } from "../contract/tool.ts"
import {
  allowAll,
  type BackendCase,
  callsThenTells,
  check,
  checkStatus,
  counting,
  inPlace,
  isMain,
  withRuntime,
} from "./backend-bench.ts"
import type { FaultOrder } from "./faults.ts"

function faultCase(what: string, fault: FaultOrder, codes: readonly ErrorCode[]): BackendCase {
  return {
    name: `${what} is a typed failure`,
    run: (bench) =>
      inPlace(bench, { script: () => "never", faults: () => fault }, async (place) => {
        const result = await withRuntime(place, { tools: [counting().tool] }, (runtime) =>
          runtime.run({ task: "Try." }),
        )
        checkStatus(result, "failed")
        const code = result.error?.code ?? "internal"
        check(codes.includes(code), `the code must be one of ${codes.join(", ")}`, result.error)
      }),
  }
}

export const backendControlCases: readonly BackendCase[] = [
  {
    name: "a message during a tool reaches the model before it finishes",
    run: (bench) =>
      inPlace(bench, { script: callsThenTells(bench.ours("send", { to: "Ada" })) }, async (place) => {
        const { tool } = counting()
        const steered: Tool = {
          ...tool,
          run(args, context) {
            handle?.steer("Mind the tide.")
            return tool.run(args, context)
          },
        }
        let handle: { steer(text: string): boolean } | undefined
        const result = await withRuntime(place, { tools: [steered] }, (runtime) => {
          const stream = runtime.stream({ task: "Send it." })
          handle = stream
          return stream.result
        })
        checkStatus(result, "done")
        const seen = place.simulator.requests.some(({ messages }) =>
          JSON.stringify(messages).includes("Mind the tide."),
        )
        check(seen, "the model must get the message")
      }),
  },
  {
    name: "an interrupt while the model answers cancels the run, and it can be resumed",
    run: (bench) => {
      let calls = 0
      const script = async (request: Parameters<typeof isMain>[0]) => {
        if (!isMain(request) || ++calls > 1) return "Here it is."
        reached()
        await new Promise(() => {})
        return ""
      }
      let reached = () => {}
      const asked = new Promise<void>((resolve) => {
        reached = resolve
      })
      return inPlace(bench, { script }, async (place) => {
        const { tool } = counting()
        const cancelled = await withRuntime(place, { tools: [tool] }, async (runtime) => {
          const handle = runtime.stream({ task: "Think." })
          await asked
          handle.interrupt("immediate")
          return handle.result
        })
        checkStatus(cancelled, "cancelled")
        check((await place.leftovers()) === 0, "a cancelled run must not keep a program")
        const result = await withRuntime(place, { tools: [tool] }, (runtime) =>
          runtime.resume({ runId: cancelled.runId }),
        )
        checkStatus(result, "done")
        check(result.text === "Here it is.", "the resumed run must finish", result.text)
      })
    },
  },
  {
    name: "an interrupt while a tool runs aborts the tool",
    run: (bench) =>
      inPlace(bench, { script: callsThenTells(bench.ours("send", { to: "Ada" })) }, async (place) => {
        const { tool } = counting()
        let begun = () => {}
        const started = new Promise<void>((resolve) => {
          begun = resolve
        })
        const hanging = {
          ...tool,
          run: (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
            begun()
            return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))))
          },
        }
        const result = await withRuntime(place, { ...allowAll, tools: [hanging] }, async (runtime) => {
          const handle = runtime.stream({ task: "Send it." })
          await started
          handle.interrupt("immediate")
          return handle.result
        })
        checkStatus(result, "cancelled")
        check(result.toolCalls[0]?.status === "unknown", "what it did is not known", result.toolCalls)
      }),
  },
  faultCase("a rate limit", { kind: "status", status: 429 }, ["rate_limited"]),
  faultCase("an error of the server", { kind: "status", status: 500 }, ["provider_error", "overloaded"]),
  faultCase("a refused key", { kind: "status", status: 401 }, ["auth"]),
  faultCase("a stream that ends in the middle", { kind: "reset", atByte: 200 }, [
    "stream_incomplete",
    "network",
    "provider_error",
  ]),
  {
    name: "without credentials the failure is auth, with a fix",
    run: (bench) =>
      inPlace(bench, { script: () => "never", isLoggedOut: true }, async (place) => {
        const result = await withRuntime(place, { tools: [counting().tool] }, (runtime) =>
          runtime.run({ task: "Try." }),
        )
        checkStatus(result, "failed")
        check(
          result.error?.code === "auth" || result.error?.code === "config_invalid",
          "the code must be auth",
          result.error,
        )
        check(result.error.fix !== undefined, "the failure must name the fix", result.error)
      }),
  },
]
