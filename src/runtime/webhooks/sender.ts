import { LonghaulError } from "../../contract/error.ts"
import type { RunReference } from "../../contract/run.ts"
import type { RunKey } from "../../contract/store.ts"
import type { RecordedWebhook, Webhook, WebhookAttempt, WebhookDelivery } from "../../contract/webhook.ts"
import { runPath } from "../../journal/paths.ts"
import { project } from "../../journal/projection.ts"
import { resultOf } from "../../journal/result.ts"
import { delay, onAbort, unreferenced } from "../../lib/abort.ts"
import { failureCode } from "../../lib/failures.ts"
import { newNonce } from "../../lib/id.ts"
import type { Opening } from "../../run/state/opening.ts"
import { type FoundRun, inspectRun, loadRun, noSuchRun } from "../../runs/read-runs.ts"
import { enterFound, entriesOf } from "../../runs/run-index.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import { checkWebhook, type InlineValues } from "../../webhooks/check.ts"
import { deliver } from "../../webhooks/deliver.ts"
import {
  addToOutbox,
  readOutbox,
  type Standing,
  type SubscribedEvent,
  standingOf,
  subscribedEvents,
  webhookId,
} from "../../webhooks/outbox.ts"
import { type InlineOf, readDeliveries, readDelivery } from "./deliveries.ts"

/**
 * Delivers webhook events to their receivers. The pending deliveries are a fold over journal and outbox, so another process can
 * continue them; only inline secrets and headers exist in this process alone.
 */
export class WebhookSender {
  readonly #config: ResolvedConfig
  /** Secrets and headers that are in memory only, by run and receiver. */
  readonly #inline = new Map<string, InlineValues>()
  /** Runs of this process whose end is delivered to a receiver. */
  readonly #subscribed = new Set<string>()
  readonly #tasks = new Map<string, Task>()
  /** By run: resolves when every event so far has had its first attempt, so that a receiver gets them in order. */
  readonly #lines = new Map<string, Promise<void>>()
  readonly #works = new Set<Promise<void>>()
  /** Aborts when no further attempt is waited for. */
  readonly #closing: AbortSignal
  /** Aborts the requests in progress. */
  readonly #ending = new AbortController()

  constructor(config: ResolvedConfig, closing: AbortSignal) {
    this.#config = config
    this.#closing = closing
  }

  /**
   * Validates the webhook of a background run, and returns the function that chooses the webhook once the run is open: the given
   * one, else the one it had before, else that of the runtime. A recovered run keeps its webhook.
   */
  chooser(key: RunKey, how: "asked" | "recovered", given?: Webhook): NonNullable<Opening["webhookOf"]> {
    const asked = given === undefined ? undefined : checkWebhook(given, this.#config.webhooks.rules)
    if (given) this.#config.runSecrets.keep(key.runId, given)
    return (history) => {
      const own = how === "asked" && !history.webhook ? this.#config.webhooks.own : undefined
      const chosen = asked ?? own
      if (chosen) this.#inline.set(receiverName(key, chosen.recorded), chosen.inline)
      const webhook = chosen?.recorded ?? history.webhook
      if (webhook) this.#subscribed.add(runPath(key))
      return webhook
    }
  }

  /** Called when this process has closed the journal of a run; `seq` is its last record. Never rejects. */
  async ended(key: RunKey, seq: number): Promise<void> {
    if (this.#subscribed.delete(runPath(key))) await this.#begin(key, seq)
  }

  /** Delivers pending events in the background. `newest`: only the last one, because other processes may deliver the others. */
  deliver(key: RunKey, which: Which): void {
    const work = this.#begin(key, which)
    this.#config.executor?.run(work)
  }

  /** Resolves when this process has no attempts left to make. Never rejects. */
  #begin(key: RunKey, which: Which): Promise<void> {
    const work = this.#deliverEvents(key, which)
      .catch((error) => this.#warn("Webhooks could not be sent now.", key, { error: failureCode(error) }))
      .finally(() => this.#works.delete(work))
    this.#works.add(work)
    return work
  }

  /** Delivers all pending events of the workspace, including those of other processes. */
  async deliverAll(): Promise<RunReference[]> {
    const references: RunReference[] = []
    const { nodesWithDeliveries } = await import("../../runs/list-runs.ts")
    for (const { key } of await nodesWithDeliveries(this.#config)) {
      if (this.#closing.aborted) break
      if (!(await this.#hasPendingDeliveries(key))) continue
      references.push({ runId: key.runId, nodeId: key.nodeId })
      this.deliver(key, "all")
    }
    return references
  }

  async deliveries(key: RunKey): Promise<WebhookDelivery[]> {
    if ((await loadRun(this.#config, key)) === null) throw noSuchRun(key)
    return this.#deliveriesOf(key)
  }

  /** Restarts the delivery attempts of an event. */
  async again(key: RunKey, seq: number | undefined): Promise<WebhookDelivery> {
    const found = await loadRun(this.#config, key)
    if (found === null) throw noSuchRun(key)
    const subscribed = subscribedEvents(found.records).findLast((each) => seq === undefined || each.seq === seq)
    if (subscribed === undefined) throw noSuchEvent(key)
    const folder = this.#config.store.folder(runPath(key))
    const { length } = await readOutbox(folder, subscribed.seq)
    // The index is updated first, so that another process finds the delivery if this one ends.
    await this.#enter(key, true)
    await addToOutbox(folder, subscribed.seq, { type: "again", at: Date.now(), nonce: newNonce() }, length)
    this.#tasks.get(taskName(key, subscribed.seq))?.wake.abort()
    this.deliver(key, subscribed.seq)
    return readDelivery(this.#config, { ...key, tenant: found.projection.tenant }, subscribed, this.#inlineOf(key))
  }

  /** Waits briefly for requests in progress. Aborted ones are sent again by the next process that delivers. */
  async close(): Promise<void> {
    const done = new AbortController()
    const all = Promise.all(this.#works).then(() => done.abort())
    await delay(CLOSING_MS, done.signal)
    this.#ending.abort()
    await all
  }

  async #deliverEvents(key: RunKey, which: Which): Promise<void> {
    // No await before this call: a later event must queue behind this one.
    if (typeof which === "number") await this.#deliverOnce(key, which)
    else {
      const found = await this.#loadVisible(key)
      const subscribed = subscribedEvents(found?.records ?? []).slice(from[which])
      await Promise.all(subscribed.map(({ seq }) => this.#deliverOnce(key, seq)))
    }
    await this.#forgetInline(key)
    if (!(await this.#deliveriesOf(key)).some(isDue)) await this.#enter(key, false)
  }

  /** Updates the index entry of a paused or ended run. `owes`: deliveries are pending. */
  async #enter(key: RunKey, owes: boolean): Promise<void> {
    const found = await inspectRun(this.#config, key)
    if (found && found.projection.status !== "running")
      await enterFound(this.#config, key, found, entriesOf(key, found), owes)
  }

  /** Drops inline values once the run is done and everything is delivered. Any other run may be resumed and need them again. */
  async #forgetInline(key: RunKey): Promise<void> {
    const found = await loadRun(this.#config, key)
    if (found?.projection.status !== "done") return
    const all = await this.#deliveriesOf(key)
    if (!all.every(({ status }) => status === "delivered")) return
    for (const { webhook } of subscribedEvents(found.records)) this.#inline.delete(receiverName(key, webhook))
  }

  /** Delivers an event at most once at a time within this process. */
  #deliverOnce(key: RunKey, seq: number): Promise<void> {
    const name = taskName(key, seq)
    const known = this.#tasks.get(name)
    if (known) return known.work
    const { before, attempted } = this.#joinLine(runPath(key))
    const task: Task = { wake: new AbortController(), attempted, work: Promise.resolve() }
    this.#tasks.set(name, task)
    task.work = before
      .then(() => this.#deliverEvent(key, seq, task))
      .finally(() => {
        attempted()
        this.#tasks.delete(name)
      })
    return task.work
  }

  #joinLine(run: string): { readonly before: Promise<void>; attempted(): void } {
    const before = this.#lines.get(run) ?? Promise.resolve()
    let attempted = () => {}
    const first = new Promise<void>((resolve) => {
      attempted = resolve
    })
    const line = before.then(() => first)
    this.#lines.set(run, line)
    void line.then(() => {
      if (this.#lines.get(run) === line) this.#lines.delete(run)
    })
    return { before, attempted }
  }

  async #deliverEvent(key: RunKey, seq: number, task: Task): Promise<void> {
    const folder = this.#config.store.folder(runPath(key))
    let waitedFor = 0
    for (;;) {
      if (task.wake.signal.aborted) task.wake = new AbortController()
      // Read again before each attempt: another process may have delivered the event or removed the run.
      const found = await this.#loadVisible(key)
      const subscribed = found && subscribedEvents(found.records).find((each) => each.seq === seq)
      if (!subscribed) return
      const entries = await readOutbox(folder, seq)
      const standing = standingOf(subscribed, entries)
      if (standing.status !== "pending") {
        if (task.wake.signal.aborted) continue
        return
      }
      const waitMs = standing.attempt === waitedFor ? 0 : waitOf(standing)
      if (waitMs > 0) {
        task.attempted()
        waitedFor = (await this.#sleep(waitMs, task.wake.signal)) ? standing.attempt : 0
        if (this.#closing.aborted) return
        continue
      }
      const attempt = await this.#attempt(key, found, subscribed, standing.attempt)
      if (attempt === null) return
      await addToOutbox(folder, seq, { type: "attempt", round: standing.round, ...attempt }, entries.length)
      this.#logAttempt(key, subscribed, attempt)
    }
  }

  /** Returns null if the event cannot be sent, or if the outcome of the request is unknown. */
  async #attempt(
    key: RunKey,
    found: FoundRun,
    subscribed: SubscribedEvent,
    attempt: number,
  ): Promise<WebhookAttempt | null> {
    const { webhooks, digest } = this.#config
    const { webhook, event, seq } = subscribed
    const sent = webhooks.resolve(webhook, this.#inlineOf(key)(webhook))
    if (sent === null) {
      this.#warn("A webhook waits: this process does not have a secret or header that it needs.", key, {
        event,
        seq,
      })
      return null
    }
    const reported = project(found.records.slice(0, found.records.findIndex((record) => record.seq === seq) + 1))
    const sending = {
      url: webhook.url,
      id: webhookId(digest, { ...key, tenant: found.projection.tenant }, subscribed),
      event,
      runId: key.runId,
      body: JSON.stringify(resultOf(reported, { ...key, path: found.path, lastShard: found.top })),
      attempt,
      ...sent,
      signal: this.#ending.signal,
    }
    return deliver(sending, webhooks.post)
  }

  async #hasPendingDeliveries(key: RunKey): Promise<boolean> {
    try {
      const owes = (await this.#deliveriesOf(key)).some(isDue)
      if (!owes) await this.#enter(key, false)
      return owes
    } catch (error) {
      // An unreadable run must not prevent the deliveries of other runs.
      this.#warn("The pending webhook deliveries of a run could not be read.", key, { error: failureCode(error) })
      return false
    }
  }

  #deliveriesOf(key: RunKey): Promise<WebhookDelivery[]> {
    return readDeliveries(this.#config, key, this.#inlineOf(key))
  }

  #inlineOf(key: RunKey): InlineOf {
    return (webhook) => this.#inline.get(receiverName(key, webhook))
  }

  /** Loads a run, and waits while a takeover hides its newest records. */
  async #loadVisible(key: RunKey): Promise<FoundRun | null> {
    for (let looks = 1; ; looks++) {
      const found = await loadRun(this.#config, key)
      const isHidden = found?.takeoverPending
      if (!isHidden || looks === MAX_LOOKS || !(await this.#sleep(Math.min(LOOK_MS, 10 * 2 ** looks)))) return found
    }
  }

  /** Returns false if the sleep was interrupted by a wake-up or by the closing of the runtime. */
  #sleep(ms: number, wake?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (waited: boolean) => {
        clearTimeout(timer)
        for (const unlink of unlinks) unlink()
        resolve(waited)
      }
      // A process without other work may exit: the next one continues the deliveries.
      const timer = unreferenced(setTimeout(() => end(true), ms))
      const unlinks = [this.#closing, wake].map((signal) => onAbort(signal, () => end(false)))
    })
  }

  #logAttempt(key: RunKey, { event, seq }: SubscribedEvent, { attempt, status, httpCode }: WebhookAttempt): void {
    const { runId, nodeId } = key
    const code = httpCode === undefined ? {} : { httpCode }
    const { logger } = this.#config
    if (status === "delivered") logger?.info?.("A webhook was delivered.", { runId, nodeId, event, seq, attempt })
    else this.#warn("A webhook was not delivered.", key, { event, seq, attempt, ...code, final: status === "stopped" })
  }

  #warn(message: string, { runId, nodeId }: RunKey, data: Record<string, string | number | boolean>): void {
    this.#config.logger?.warn(message, { runId, nodeId, ...data })
  }
}

function isDue({ status }: WebhookDelivery): boolean {
  return status === "pending" || status === "waiting"
}

/** Selects events of a run: the last one, all, or the one of a record. */
type Which = "newest" | "all" | number

const from = { newest: -1, all: 0 }

interface Task {
  /** Aborts when the attempts must restart. */
  wake: AbortController
  /** Allows the first attempt of the run's next event. */
  attempted(): void
  work: Promise<void>
}

/** Uses the clock of the process that made the last attempt, and never waits longer than `delayMs` by our own. */
function waitOf({ since, delayMs }: Standing): number {
  return Math.max(0, Math.min(delayMs, since + delayMs - Date.now()))
}

function receiverName(key: RunKey, { url }: RecordedWebhook): string {
  return `${runPath(key)} ${url}`
}

function taskName(key: RunKey, seq: number): string {
  return `${runPath(key)} ${seq}`
}

function noSuchEvent({ runId }: RunKey): LonghaulError {
  return new LonghaulError("invalid_state", `Run ${runId} has no such webhook event.`, {
    fix: "Choose one of the events in webhookDeliveries(runId).",
  })
}

const CLOSING_MS = 5_000
const LOOK_MS = 500
const MAX_LOOKS = 25
