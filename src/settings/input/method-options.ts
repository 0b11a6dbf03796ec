import type { EventsOptions } from "../../contract/run.ts"
import type { Runtime } from "../../contract/runtime.ts"
import { checkShape, having, listOf, required, type Shape, words } from "../../lib/schema/shape.ts"

/** The options that a caller passed to a method of the runtime, checked: a misspelt or wrong one is `config_invalid`. */
export function methodOptions<Method extends keyof typeof shapes, Options extends object>(
  method: Method,
  options: Options | undefined,
): Partial<Options> {
  if (options === undefined) return {}
  checkShape<unknown>(method, options, shapes[method])
  return options
}

/** Methods that act on one node of a run. */
export type MethodOnNode =
  | "cancel"
  | "compact"
  | "interrupt"
  | "remove"
  | "retryWebhook"
  | "steer"
  | "webhookDeliveries"

type Options<Method extends keyof Runtime, At extends number> = NonNullable<
  Runtime[Method] extends (...args: infer Args) => unknown ? Args[At] : never
>

const statuses = words("running", "paused", "done", "failed", "cancelled")
const nodeShape = { nodeId: "text" } as const
const eventsShape: Shape<EventsOptions & { readonly deltas?: true }> = {
  nodeId: "text",
  agents: "boolean",
  after: "number",
  follow: "boolean",
  deltas: "boolean",
  signal: "signal",
}
const runsShape: Shape<Options<"runs", 0>> = {
  status: [statuses, listOf(statuses)],
  runId: "text",
  metadata: "object",
  limit: "number",
  before: [
    "text",
    having(
      { runId: required("text"), nodeId: required("text"), startedAt: required("number") },
      "Pass a summary of runs().",
    ),
  ],
}
const waitShape: Shape<Options<"waitFor", 1>> = {
  nodeId: "text",
  timeoutMs: "number",
  pollIntervalMs: "number",
  outputSchema: ["text", "function", "object"],
}

const shapes = {
  cancel: nodeShape satisfies Shape<Options<"cancel", 1>>,
  close: { release: "boolean" } satisfies Shape<Options<"close", 0>>,
  compact: nodeShape satisfies Shape<Options<"compact", 1>>,
  events: eventsShape,
  fork: { nodeId: "text", at: "number", newRunId: "text" } satisfies Shape<Options<"fork", 1>>,
  interrupt: nodeShape satisfies Shape<Options<"interrupt", 2>>,
  recoverOrphanedRuns: { staleMs: "number", action: words("mark", "resume") } satisfies Shape<
    Options<"recoverOrphanedRuns", 0>
  >,
  remove: nodeShape satisfies Shape<Options<"remove", 1>>,
  replay: { nodeId: "text", onEvent: "function" } satisfies Shape<Options<"replay", 1>>,
  retryWebhook: { nodeId: "text", seq: "number" } satisfies Shape<Options<"retryWebhook", 1>>,
  runs: runsShape,
  steer: nodeShape satisfies Shape<Options<"steer", 2>>,
  waitFor: waitShape,
  webhookDeliveries: nodeShape satisfies Shape<Options<"webhookDeliveries", 1>>,
} as const
