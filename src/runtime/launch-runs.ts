import type { ContinueInput, ResumeInput, RunInput, RunReference } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import type { Webhook, WithWebhook } from "../contract/webhook.ts"
import type { RunProjection } from "../journal/projection.ts"
import type { Taking } from "../journal/reader.ts"
import { checkedId } from "../lib/id.ts"
import { checkArgument, checkShape, usable } from "../lib/schema/shape.ts"
import { beginning, chosenRun } from "../run/execute-run.ts"
import type { OwnerWatch } from "../runs/owner-watch.ts"
import type { FoundRun } from "../runs/read-runs.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { continueShape, idShape, runKey } from "../settings/input/input.ts"
import type { Orphan } from "./background.ts"
import type { LiveRun, LiveRuns } from "./live-runs.ts"
import type { WebhookSender } from "./webhooks/sender.ts"

interface ResumeOptions {
  /** Present if recovery resumes the run. */
  readonly orphan?: Orphan
  /** `recovered`: the run keeps its previous webhook. Absent: the run is in the foreground and has no webhook. */
  readonly background?: "asked" | "recovered"
  readonly webhook?: Webhook | undefined
  readonly streamed?: boolean
}

/** Launches new runs, resumed runs and the next exchanges of conversations. */
export class Launcher {
  readonly #config: ResolvedConfig
  readonly #live: LiveRuns
  readonly #watch: OwnerWatch
  readonly #webhooks: WebhookSender

  constructor(config: ResolvedConfig, live: LiveRuns, watch: OwnerWatch, webhooks: WebhookSender) {
    this.#config = config
    this.#live = live
    this.#watch = watch
    this.#webhooks = webhooks
  }

  run(input: RunInput, streamed: boolean): LiveRun {
    const key = runKey(this.#config, input)
    return this.#live.launch(key, () => this.#begin(key, input), { ...input, streamed })
  }

  runInBackground(given: RunInput & WithWebhook): LiveRun {
    const { webhook, ...input } = given ?? {}
    const key = runKey(this.#config, input)
    const open = async () => {
      const webhookOf = this.#webhooks.chooser(key, "asked", webhook)
      return { ...(await this.#begin(key, input)), webhookOf }
    }
    return this.#live.launch(key, open, input)
  }

  resume(input: ResumeInput, { orphan, background, webhook, streamed = false }: ResumeOptions = {}): LiveRun {
    const { runId = "", nodeId = "main" } = usable<Partial<RunReference>>(input, idShape)
    const key: RunKey = { workspaceId: this.#config.workspaceId, runId, nodeId }
    const look = async (found: FoundRun) => orphan?.owner ?? this.#watch.look(key, found)
    const open = async () => {
      const choose = this.#webhooks.chooser(key, background ?? "recovered", webhook)
      const { resumption } = await import("../run/open/resume-run.ts")
      const opening = await resumption(this.#config, key, input, look, {
        found: orphan?.found,
        released: this.#live.released,
      })
      // A released run only moves to another process: its receiver still expects the notification of its end.
      const keepsReceiver = (history: RunProjection) => background || history.pause?.reason === "released"
      return {
        ...opening,
        webhookOf: (history: RunProjection) => (keepsReceiver(history) ? choose(history) : undefined),
      }
    }
    return this.#live.launch(key, open, { ...input, streamed })
  }

  /** Rejects if the conversation cannot be continued. */
  async continue(runId: string, text: string, options: ContinueInput = {}, streamed: boolean): Promise<LiveRun> {
    checkArgument("text", text, "text")
    checkShape<ContinueInput>("continue", options, continueShape)
    const base: RunKey = {
      workspaceId: this.#config.workspaceId,
      runId: checkedId("runId", runId),
      nodeId: checkedId("nodeId", options.nodeId ?? "main"),
    }
    const { nextExchange } = await import("../run/open/continue-run.ts")
    const next = await nextExchange(this.#config, base, text, options, this.#watch)
    const open = async () => chosenRun(this.#config, next.key, await next.input(), this.#isAbandoned(next.key))
    return this.#live.launch(next.key, open, { ...options, streamed })
  }

  #begin(key: RunKey, input: RunInput) {
    return beginning(this.#config, key, input, this.#isAbandoned(key))
  }

  #isAbandoned(key: RunKey) {
    return (top: number, taking: Taking) => this.#watch.isAbandoned(key, top, taking)
  }
}
