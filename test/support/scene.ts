export { random } from "../../src/cli/crashtest/random.ts"

import type { RecordBody, RunRecord } from "../../src/contract/event.ts"
import { type Journal, takeRun } from "../../src/journal/journal.ts"
import { project } from "../../src/journal/projection.ts"
import { createReader } from "../../src/journal/reader.ts"
import { flagUnknown } from "../../src/journal/recover.ts"
import {
  type DiskStep,
  type DiskStepKind,
  type SimulatedDisk,
  simulatedDisk,
} from "../../src/testing/simulated-disk.ts"

/** A process that owns, or tries to own, the one run of a scene. */
export interface Actor {
  readonly acknowledged: RunRecord[]
  journal: Journal
  history: readonly RunRecord[]
}

/** Processes around one simulated disk, each of which can be held at any step. */
export function scene(options: { createOnly?: boolean } = {}) {
  const disk = simulatedDisk()
  const holds: { step: Partial<DiskStep>; reached: () => void; wait: Promise<void> }[] = []
  const faults: { step: Partial<DiskStep>; error: Error }[] = []

  const matches = (wanted: Partial<DiskStep>, step: DiskStep) =>
    (wanted.actor ?? step.actor) === step.actor &&
    (wanted.kind ?? step.kind) === step.kind &&
    (wanted.name ?? step.name) === step.name

  const folder = (actor: string) =>
    disk
      .view(actor, {
        ...(options.createOnly !== undefined && { createOnly: options.createOnly }),
        async intercept(step) {
          const fault = faults.findIndex((each) => matches(each.step, step))
          if (fault >= 0) throw faults.splice(fault, 1)[0]?.error
          const hold = holds.findIndex((each) => matches(each.step, step))
          if (hold < 0) return
          const [held] = holds.splice(hold, 1)
          held?.reached()
          await held?.wait
        },
      })
      .folder("run")

  return {
    disk,
    folder,
    /** Stops an actor before a step until released. */
    hold(actor: string, kind: DiskStepKind, name?: string) {
      let release = () => {}
      let reach = () => {}
      const wait = new Promise<void>((resolve) => {
        release = resolve
      })
      const reached = new Promise<void>((resolve) => {
        reach = resolve
      })
      holds.push({ step: { actor, kind, ...(name && { name }) }, reached: reach, wait })
      return { reached, release }
    },
    /** Fails an actor's next step of this kind. */
    fail(actor: string, kind: DiskStepKind, error = new Error("EIO")) {
      faults.push({ step: { actor, kind }, error })
    },
    async take(
      actor: string,
      first: (history: readonly RunRecord[]) => readonly RecordBody[] = opening,
    ): Promise<Actor> {
      const acknowledged: RunRecord[] = []
      let history: readonly RunRecord[] = []
      const journal = await takeRun(folder(actor), {
        now: () => 0,
        first(found) {
          history = found
          return first(found)
        },
        acknowledged: (records) => acknowledged.push(...records),
      })
      return { acknowledged, journal, history }
    },
    /** The current disk as seen by a fresh reader, unaffected by holds. */
    history: (): Promise<RunRecord[]> => readAll(disk, options.createOnly ?? false),
  }
}

/** The first records of every test owner: its start, or flags for open calls it found. */
export function opening(history: readonly RunRecord[]): RecordBody[] {
  if (history.length === 0) return [note("start")]
  return [{ type: "run-resume", cause: "takeover" }, ...flagUnknown(project(history))]
}

export function note(message: string): RecordBody {
  return { type: "warning", code: "note", message }
}

export function call(callId: string): RecordBody[] {
  return [
    { type: "tool-call", turn: 1, callId, name: "Pay", args: {} },
    { type: "tool-intent", callId, digest: "d", effect: "once", key: callId },
  ]
}

export function receipt(callId: string): RecordBody {
  return { type: "tool-result", callId, outcome: { status: "ok", output: [] }, durationMs: 0 }
}

export async function readAll(disk: SimulatedDisk, createOnly: boolean): Promise<RunRecord[]> {
  return createReader(disk.view("reader", { createOnly }).folder("run")).next()
}

/** Lets everything that does not need a held step continue. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}
