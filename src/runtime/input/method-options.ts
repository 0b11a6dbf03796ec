import type { EventsOptions } from "../../contract/run.ts"
import type { Runtime } from "../../contract/runtime.ts"
import { checkKeys, keys } from "../../lib/known-keys.ts"

/** The options that a caller passed to a method of the runtime, checked: a misspelt one is `config_invalid`. */
export function methodOptions<Method extends keyof typeof knownKeys, Options extends object>(
  method: Method,
  options: Options | undefined,
): Partial<Options> {
  if (options === undefined) return {}
  checkKeys(method, options, knownKeys[method])
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

const knownKeys = {
  cancel: keys<Options<"cancel", 1>>()("nodeId"),
  close: keys<Options<"close", 0>>()("release"),
  compact: keys<Options<"compact", 1>>()("nodeId"),
  events: keys<EventsOptions & { readonly deltas?: true }>()("nodeId", "agents", "after", "follow", "deltas", "signal"),
  fork: keys<Options<"fork", 1>>()("nodeId", "at", "newRunId"),
  interrupt: keys<Options<"interrupt", 2>>()("nodeId"),
  recoverOrphanedRuns: keys<Options<"recoverOrphanedRuns", 0>>()("staleMs", "action"),
  remove: keys<Options<"remove", 1>>()("nodeId"),
  replay: keys<Options<"replay", 1>>()("nodeId", "onEvent"),
  retryWebhook: keys<Options<"retryWebhook", 1>>()("nodeId", "seq"),
  runs: keys<Options<"runs", 0>>()("status", "runId", "metadata", "limit", "before"),
  steer: keys<Options<"steer", 2>>()("nodeId"),
  waitFor: keys<Options<"waitFor", 1>>()("nodeId", "timeoutMs", "pollIntervalMs", "outputSchema"),
  webhookDeliveries: keys<Options<"webhookDeliveries", 1>>()("nodeId"),
} as const
