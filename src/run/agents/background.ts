import { onAbort } from "../../lib/abort.ts"
import { AGENT_ENDED } from "../../lib/compaction/agent-messages.ts"
import { plainText } from "../../lib/content.ts"
import type { SpawnEnd } from "../state/agents.ts"
import { RunControls } from "../state/controls.ts"
import type { OpenRun } from "../state/open-run.ts"
import { moreUrgent, type RunStop, type Suspension } from "../state/stops.ts"
import { linkControls } from "./link-controls.ts"

interface AgentAnswer {
  readonly agentId: string
  readonly text: string
}

/**
 * The agents of a run whose calls do not wait for them. The end of each is one message for the run's model, and its record says
 * that it was delivered: what a process does not deliver, the next one does.
 */
export class BackgroundAgents {
  readonly #run: OpenRun
  /** Between the controls of the run and those of its agents, which can thus be stopped without it. */
  readonly controls = new RunControls()
  #unlink: (() => void) | undefined
  readonly #working = new Map<string, Promise<void>>()
  /** Why agents have stopped before their end. */
  readonly #left: (Suspension | { readonly kind: "lost" })[] = []
  /** Answers that no session took: another one may follow. */
  #refused: AgentAnswer[] = []
  #wake = () => {}

  constructor(run: OpenRun) {
    this.#run = run
  }

  get isPending(): boolean {
    const { hasAnswerOfAgent } = this.#run.controls.steers
    return this.#working.size > 0 || this.#left.length > 0 || this.#refused.length > 0 || hasAnswerOfAgent
  }

  has(agentId: string): boolean {
    return this.#working.has(agentId)
  }

  /** Lets an agent work, which `controls` must stop. */
  start(agentId: string, work: () => Promise<SpawnEnd>): void {
    this.#unlink ??= this.#link()
    const ended = work()
      .then((end) => this.#conclude(agentId, end))
      .catch((error: unknown) => this.#run.controls.lose(error))
      .finally(() => {
        this.#working.delete(agentId)
        this.#wake()
      })
    this.#working.set(agentId, ended)
  }

  async wait(): Promise<void> {
    const { controls, journal } = this.#run
    for (const answer of this.#refused.splice(0)) this.#deliver(answer)
    const isOver = () => this.#working.size === 0 || controls.steers.hasUnread || controls.stopping
    if (isOver()) return
    // The model's text is durable while others work.
    journal.flushSoon()
    await this.#withoutSlot(async () => {
      while (!isOver()) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    })
  }

  async waitWithoutSession(): Promise<RunStop | undefined> {
    await this.wait()
    const { controls, journal, projection } = this.#run
    if (controls.stopping) return { reason: "interrupted" }
    // The session begins with one message, and takes the others as soon as it is open.
    const first = controls.steers.takeFirst()
    if (first === undefined) return { reason: "done", text: projection.text }
    journal.append(first)
    await journal.flush()
    return undefined
  }

  async finish(stop: RunStop): Promise<RunStop> {
    const { controls, journal } = this.#run
    if (this.#working.size > 0) {
      if (stop.reason === "ended") this.controls.stop({ kind: "cancel" }, "graceful")
      // They continue with the run, if it is resumed. A pause waits until they need a person, too, or have ended.
      else if (stop.reason !== "suspended") this.controls.release()
      await this.#withoutSlot(() => Promise.all(this.#working.values()))
    }
    this.#unlink?.()
    if (stop.reason !== "done") return stop
    if (this.#left.length === 0 && this.#refused.length === 0) return stop
    if (controls.stopping) return { reason: "interrupted" }
    const pauses = this.#left.filter((end) => end.kind !== "lost")
    if (this.#refused.length > 0) pauses.push({ kind: "released" })
    const pause = pauses.reduce<Suspension | undefined>(moreUrgent, undefined)
    if (pause?.kind === "asked") journal.append(pause.request)
    return { reason: "suspended", pause }
  }

  #conclude(agentId: string, end: SpawnEnd): void {
    if (end.kind !== "ended") {
      this.#left.push(end)
      return
    }
    const text = `${AGENT_ENDED}\n${plainText(end.outcome.output, "\n")}`
    this.#deliver({ agentId, text: this.#run.redactor.again(text) })
  }

  #deliver(answer: AgentAnswer): void {
    const { agentId, text } = answer
    if (!this.#run.controls.steer(text, { reason: "agent", agentId })) this.#refused.push(answer)
  }

  #link(): () => void {
    const { controls } = this.#run
    const wake = () => this.#wake()
    controls.onMessage(wake)
    const unlinks = [
      linkControls(controls, this.controls),
      onAbort(controls.halting, wake),
      onAbort(controls.signal, wake),
    ]
    return () => {
      for (const unlink of unlinks) unlink()
    }
  }

  /** A run that only waits leaves its slot to its agents. */
  #withoutSlot<Value>(work: () => Promise<Value>): Promise<Value> {
    const { slot } = this.#run.tree
    return slot ? slot.during(work) : work()
  }
}
