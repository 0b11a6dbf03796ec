import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect } from "vitest"
import { callsThenTells, isMain, withRuntime } from "../../src/testing/backend-bench.ts"
import type { AnswerInParts, BackendBench, SimulatedRequest } from "../../src/testing/index.ts"
import { openPlace, type PlacedBackend } from "../support/backend-place.ts"

/** All cases of slow programs run only on request. */
export const isWhole = Boolean(process.env.LONGHAUL_ALL_BACKEND_CASES)

const letters = { rules: [{ deny: { tool: "Write" }, reason: "letters only" }, { allow: { tool: "*" } }] }

/** A call is refused, which takes a second prompt for the reason; the model counts 1,000 tokens for each request. */
export async function usageOfTwoPrompts(bench: BackendBench) {
  const tells = callsThenTells(bench.own?.call("note.txt", "written") ?? expect.fail("no tool of its own"))
  const script = (request: SimulatedRequest): AnswerInParts => {
    const answer = tells(request)
    const given = typeof answer === "string" ? { parts: [{ text: answer }] } : answer
    return { ...given, usage: { inputTokens: 1000, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 } }
  }
  const place = await bench.open({ script })
  try {
    const result = await withRuntime(place, { policy: letters, tools: [] }, (runtime) =>
      runtime.run({ task: "Write." }),
    )
    return { result, requests: place.simulator.requests.filter(isMain).length }
  } finally {
    await place.close()
  }
}

/** The workspace has a file that the agent would run. */
export async function runWithPlanted(placed: PlacedBackend, file: string, text: string) {
  const call = placed.own?.call("note.txt", "written") ?? expect.fail("no tool of its own")
  const place = await openPlace({ script: callsThenTells(call) }, (facts) => {
    const path = join(facts.workspace, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return placed.configure(facts)
  })
  try {
    const result = await withRuntime(place, { policy: letters, tools: [] }, (runtime) =>
      runtime.run({ task: "Write." }),
    )
    return { result, written: await place.read("note.txt"), planted: await place.read("planted.txt") }
  } finally {
    await place.close()
  }
}

/** The task is a text that the agent would read as a command of its own. */
export async function runCommandAsTask(bench: BackendBench, task: string) {
  const place = await bench.open({
    script: callsThenTells(bench.own?.call("note.txt", "written") ?? expect.fail("no tool of its own")),
  })
  try {
    const result = await withRuntime(place, { policy: letters, tools: [] }, (runtime) => runtime.run({ task }))
    const isSeen = place.simulator.requests.some((request) => JSON.stringify(request.messages).includes(task))
    return { result, isSeen, file: await place.read("note.txt") }
  } finally {
    await place.close()
  }
}
