import type { RunKey } from "../../contract/store.ts"
import { type InboxMessage, readMessage, skipped, type UnreadableMessage } from "../../journal/inbox.ts"
import { runPath } from "../../journal/paths.ts"
import { unreferenced } from "../../lib/abort.ts"
import { writeState } from "../../runs/state-file.ts"
import type { InboxMonitor, OpenRun } from "./open-run.ts"

/**
 * Monitors the active runs of a runtime in the background: reads their inboxes and writes their state files. One timer serves
 * all runs; a run that ends before its first tick costs nothing.
 */
export class RunMonitor implements InboxMonitor {
  readonly #runs = new Set<MonitoredRun>()
  #timer: ReturnType<typeof setInterval> | undefined

  add(run: OpenRun): () => Promise<void> {
    const monitored = new MonitoredRun(run)
    this.#runs.add(monitored)
    this.#timer ??= unreferenced(setInterval(() => this.#tick(), TICK_MS))
    return () => {
      this.#runs.delete(monitored)
      if (this.#runs.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
      return monitored.end()
    }
  }

  async readInbox(run: OpenRun): Promise<void> {
    for (const monitored of this.#runs) if (monitored.isOf(run)) await monitored.readNow()
  }

  async deliver(key: RunKey, slot: number): Promise<boolean | undefined> {
    for (const monitored of this.#runs) if (monitored.hasKey(key)) return monitored.deliver(slot)
    return undefined
  }

  /** Bounds the state writes per tick: the more runs there are, the less often each one writes its state. */
  #tick(): void {
    const written: MonitoredRun[] = []
    for (const run of this.#runs) if (run.tick(written.length < MAX_WRITES_PER_TICK)) written.push(run)
    for (const run of written) {
      this.#runs.delete(run)
      this.#runs.add(run)
    }
  }
}

class MonitoredRun {
  readonly #run: OpenRun
  /** Higher on stores where every poll is a request. */
  readonly #pollTicks: number
  #ticks = 0
  #busy: Promise<void> | undefined
  #nextInbox: number
  #beat = 0
  #lastActivity = ""
  #ticksSinceWrite = 0

  constructor(run: OpenRun) {
    this.#run = run
    this.#pollTicks = run.folder.append ? 1 : SLOW_POLL_TICKS
    this.#nextInbox = run.projection.nextInbox
  }

  isOf(run: OpenRun): boolean {
    return this.#run === run
  }

  hasKey(key: RunKey): boolean {
    return runPath(this.#run.key) === runPath(key)
  }

  async deliver(slot: number): Promise<boolean> {
    await this.readNow()
    return this.#nextInbox > slot
  }

  async readNow(): Promise<void> {
    await this.#busy
    if (this.#busy === undefined) {
      this.#busy = this.#readInbox().finally(() => {
        this.#busy = undefined
      })
    }
    // Nothing here has to be durable: the next tick tries again.
    await this.#busy?.catch(() => {})
  }

  /** Returns true if the run writes its state in this tick. Without `mayWrite` it writes only a heartbeat that is due. */
  tick(mayWrite: boolean): boolean {
    // A tick is skipped while the work of an earlier one is unfinished.
    if (this.#busy) return false
    this.#ticks++
    const writes = this.#isWriteDue(mayWrite)
    this.#busy = this.#poll(writes).finally(() => {
      this.#busy = undefined
    })
    return writes
  }

  /** A state file that was written must show the final state too. */
  async end(): Promise<void> {
    await this.#busy
    if (this.#beat > 0) await this.#writeState().catch(() => {})
  }

  #isWriteDue(mayWrite: boolean): boolean {
    const { folder, projection } = this.#run
    if (this.#ticks < FIRST_WRITE_TICKS) return false
    if (++this.#ticksSinceWrite >= BEAT_TICKS) return true
    if (!mayWrite || folder.append === undefined) return false
    const { now, lastTool = "" } = projection.activity
    const activity = `${projection.turns} ${now} ${lastTool}`
    if (activity === this.#lastActivity) return false
    this.#lastActivity = activity
    return true
  }

  async #poll(writes: boolean): Promise<void> {
    try {
      if (this.#ticks % this.#pollTicks === 0) await this.#readInbox()
      if (writes) await this.#writeState()
    } catch {
      // The next tick tries again. Nothing here has to be durable.
    }
  }

  async #writeState(): Promise<void> {
    this.#ticksSinceWrite = 0
    await writeState(this.#run.folder, this.#run.projection, this.#run.journal.shard, ++this.#beat)
  }

  async #readInbox(): Promise<void> {
    for (;;) {
      const message = await readMessage(this.#run.folder, this.#nextInbox)
      if (message === null || !applyMessage(this.#run, message, this.#nextInbox)) return
      this.#nextInbox++
    }
  }
}

/** Records messages that arrived while the run, or the agent, had no owner. A resumed run must continue, so a cancel does not stop it. */
export async function recordWaitingMessages({ folder, journal, projection, redactor }: OpenRun): Promise<void> {
  for (let inbox = projection.nextInbox; ; inbox++) {
    const message = await readMessage(folder, inbox)
    if (message === null) break
    if (message.type === "unreadable") journal.append(skipped(inbox))
    else if (message.type === "steer") journal.append({ type: "steer", text: redactor.again(message.text), inbox })
    else if (message.type === "compact") journal.append({ type: "compaction-request", inbox })
    else journal.append({ type: "cancel", inbox })
  }
  await journal.flush()
}

/** Applies a message to an active run and records it with its slot, so it is applied once. Returns false if it is too late. */
function applyMessage(
  { journal, controls, redactor }: OpenRun,
  message: InboxMessage | UnreadableMessage,
  inbox: number,
): boolean {
  switch (message.type) {
    case "unreadable":
      journal.append(skipped(inbox))
      return true
    case "cancel":
      journal.append({ type: "cancel", inbox })
      controls.stop({ kind: "cancel", onRecord: true }, "immediate")
      return true
    case "interrupt":
      journal.append({ type: "interrupt", mode: message.mode, inbox })
      controls.stop({ kind: "cancel", onRecord: true }, message.mode)
      return true
    case "compact":
      journal.append({ type: "compaction-request", inbox })
      controls.compact()
      return true
    case "steer":
      // The sender may not know the secrets of this run. The message is recorded when the model receives it.
      return controls.steer(redactor.again(message.text), { inbox })
  }
}

const TICK_MS = 500
/** Short runs write no state file. */
const FIRST_WRITE_TICKS = 4
const BEAT_TICKS = 40
/** The limit for all runs together. */
const MAX_WRITES_PER_TICK = 32
const SLOW_POLL_TICKS = 10
