import { type InboxMessage, readMessage, skipped, type UnreadableMessage } from "../../journal/inbox.ts"
import type { OpenRun } from "../open-run.ts"
import { writeState } from "./state-file.ts"

/**
 * Looks after the runs of a runtime beside their work: reads what others put into their inboxes, and shows that they are
 * alive. One clock for all of them; a run that is over before its first tick costs nothing.
 */
export class RunMonitor {
  readonly #runs = new Set<MonitoredRun>()
  #timer: ReturnType<typeof setInterval> | undefined

  /** Answers what ends it. */
  tend(run: OpenRun): () => Promise<void> {
    const tended = new MonitoredRun(run)
    this.#runs.add(tended)
    this.#timer ??= unreferenced(setInterval(() => this.#tick(), TICK_MS))
    return () => {
      this.#runs.delete(tended)
      if (this.#runs.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
      return tended.end()
    }
  }

  /** The more runs there are, the more rarely each shows what it is at: all together cost no more than a few would. */
  #tick(): void {
    const shown: MonitoredRun[] = []
    for (const run of this.#runs) if (run.tick(shown.length < MOST_SHOWN)) shown.push(run)
    for (const run of shown) {
      this.#runs.delete(run)
      this.#runs.add(run)
    }
  }
}

/** Nobody should have to wait for a clock, where a host knows such a thing. */
export function unreferenced<Timer>(timer: Timer): Timer {
  if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function")
    timer.unref()
  return timer
}

class MonitoredRun {
  readonly #run: OpenRun
  /** On stores where every look is a request, fewer are made. */
  readonly #pollTicks: number
  #ticks = 0
  #busy: Promise<void> | undefined
  #nextInbox: number
  #beat = 0
  #shown = ""
  #quietTicks = 0

  constructor(run: OpenRun) {
    this.#run = run
    this.#pollTicks = run.folder.append ? 1 : SLOW_POLL_TICKS
    this.#nextInbox = run.projection.nextInbox
  }

  /** True: it shows what it is at, which only a sign of life that is due does in spite of `mayShow`. */
  tick(mayShow: boolean): boolean {
    // What takes longer than a tick is not piled up.
    if (this.#busy) return false
    this.#ticks++
    const shows = this.#isToShow(mayShow)
    this.#busy = this.#look(shows).finally(() => {
      this.#busy = undefined
    })
    return shows
  }

  /** Those who saw it at work also see its end. */
  async end(): Promise<void> {
    await this.#busy
    if (this.#beat > 0) await this.#show().catch(() => {})
  }

  #isToShow(mayShow: boolean): boolean {
    const { folder, projection } = this.#run
    if (this.#ticks < FIRST_SHOWN_TICKS) return false
    if (++this.#quietTicks >= BEAT_TICKS) return true
    if (!mayShow || folder.append === undefined) return false
    const { now, lastTool = "" } = projection.activity
    const activity = `${projection.turns} ${now} ${lastTool}`
    if (activity === this.#shown) return false
    this.#shown = activity
    return true
  }

  async #look(shows: boolean): Promise<void> {
    try {
      if (this.#ticks % this.#pollTicks === 0) await this.#readInbox()
      if (shows) await this.#show()
    } catch {
      // A store that cannot be read or written now is asked again; what must be durable goes through the journal.
    }
  }

  async #show(): Promise<void> {
    this.#quietTicks = 0
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

/** What was put into a run's inbox while nobody owned it. Whoever resumes it wants it to go on: it is only told. */
export async function recordWaitingMessages({ folder, journal, projection }: OpenRun): Promise<void> {
  for (let inbox = projection.nextInbox; ; inbox++) {
    const message = await readMessage(folder, inbox)
    if (message === null) break
    if (message.type === "unreadable") journal.append(skipped(inbox))
    else if (message.type === "steer") journal.append({ type: "steer", text: message.text, inbox })
    else journal.append({ type: "cancel", inbox })
  }
  await journal.flush()
}

/** Does what somebody asked of a live run; it is on record with its slot, so nobody does it again. False: too late. */
function applyMessage(
  { journal, controls, pendingSteers }: OpenRun,
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
    case "steer":
      if (!controls.steer(message.text)) return false
      // It goes on record when the model hears it.
      pendingSteers.push({ text: message.text, inbox })
      return true
  }
}

const TICK_MS = 500
/** Nobody watches what is over in a moment. */
const FIRST_SHOWN_TICKS = 4
const BEAT_TICKS = 40
/** In one tick, of all runs. */
const MOST_SHOWN = 32
const SLOW_POLL_TICKS = 10
