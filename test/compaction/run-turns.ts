import { expect } from "vitest"
import { native } from "../../src/backends/native/index.ts"
import { Dialogue } from "../../src/backends/shared/dialogue.ts"
import type { RunRecord } from "../../src/contract/event.ts"
import type { RunHandle, RunInput, RuntimeConfig } from "../../src/contract/run.ts"
import { createRuntime } from "../../src/index.ts"
import { RunProjection } from "../../src/journal/projection.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"
import { type CountingOptions, call, countingModel, problemsOf, text, wordsIn } from "./counting-model.ts"

const anyInput = { type: "object" } as const

/** A run of `turns` calls of Read, whose results have the given numbers of characters. */
export async function runTurns(
  options: Omit<CountingOptions, "turn" | "onTurn"> & {
    readonly turns: number
    readonly result: (turn: number) => string
    readonly turn?: CountingOptions["turn"]
    readonly config?: RuntimeConfig
    readonly input?: Partial<RunInput>
    readonly steers?: readonly (readonly [turn: number, text: string])[]
    /** Called while the model is asked. */
    readonly onTurn?: (turn: number, handle: RunHandle) => void | Promise<void>
    readonly onRecord?: (record: RunRecord, handle: RunHandle) => void
  },
) {
  const { turns, result, config, input, steers = [], onTurn, onRecord, ...model } = options
  let handle: RunHandle | undefined
  const counting = countingModel({
    turn: (_request, number) => (number > turns ? "Finished." : [text(`Step ${number}.`), call("Look", { number })]),
    ...model,
    onTurn: async (turn) => {
      if (handle) await onTurn?.(turn, handle)
    },
  })
  const look = defineTool({
    name: "Look",
    description: "Looks.",
    inputSchema: anyInput,
    run: (args: { readonly number?: number }) => result(args.number ?? 0),
  })
  const store = memoryStore()
  const runtime = createRuntime({
    store,
    model: counting.model,
    backend: native({ retry: { firstMs: 1, longestMs: 1 } }),
    tools: [look],
    limits: { turns: 500 },
    ...config,
  })
  handle = runtime.stream({ task: "The task: count the sheep.", runId: "r1", ...input })
  const records: RunRecord[] = []
  for await (const event of handle) {
    if (!("seq" in event)) continue
    records.push(event)
    onRecord?.(event, handle)
    if (event.type !== "turn-start") continue
    for (const [turn, words] of steers) if (turn === event.turn) handle.steer(words)
  }
  const compactions = records.filter((record) => record.type === "compaction")
  return { ...counting, runtime, store, records, compactions, result: await handle.result }
}

/** The conversation that the journal holds before each request that was answered or refused. */
function foldedRequests(records: readonly RunRecord[]): readonly (readonly unknown[])[] {
  const projection = new RunProjection()
  return records.flatMap((record) => {
    projection.apply(record)
    return record.type === "turn-start" ? [new Dialogue(projection.messages).messages] : []
  })
}

export const words = (tokens: number) => "alpha beta gamma delta ".repeat(Math.ceil(tokens / 4))

/** Checks every request of a run against the journal. */
export function checkRequests(
  { records, requests }: Awaited<ReturnType<typeof runTurns>>,
  steers: readonly string[] = [],
) {
  const asked = requests.filter(({ isSummary }) => !isSummary)
  expect(asked.map(({ messages }) => messages)).toEqual(foldedRequests(records))
  for (const { messages } of asked) {
    expect(problemsOf(messages)).toEqual([])
    expect(wordsIn(messages)).toContain("count the sheep")
  }
  const last = wordsIn(asked.at(-1)?.messages ?? [])
  for (const steer of steers) expect(last).toContain(steer)
}
