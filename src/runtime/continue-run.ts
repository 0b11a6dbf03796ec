import { LonghaulError } from "../contract/error.ts"
import type { RecordedInput } from "../contract/event.ts"
import type { ContinueInput, RunInput } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import type { RunProjection } from "../journal/projection.ts"
import { checkedId } from "../lib/id.ts"
import type { ResolvedConfig } from "./config.ts"
import { earlierExchanges, exchangesFrom, nodeAfter } from "./conversation.ts"
import { type CheckedInput, checkInput } from "./input/input.ts"
import { recalledModel } from "./resume-run.ts"
import { type OwnerWatch, stillActive } from "./runs/owner-watch.ts"
import { type FoundRun, inspectRun, noSuchRun } from "./runs/read-runs.ts"

/** The next exchange of a conversation: where it goes, and what is asked in it. */
export interface NextExchange {
  readonly key: RunKey
  readonly input: () => Promise<CheckedInput>
}

/**
 * Finds the end of a conversation, which must not be under way or waiting. Each exchange is a node of the same run, so its
 * journal holds only what is new; `from` is any of them.
 */
export async function nextExchange(
  config: ResolvedConfig,
  from: RunKey,
  text: string,
  options: ContinueInput,
  watch: OwnerWatch,
): Promise<NextExchange> {
  const { last, found } = await lastExchange(config, from)
  await refuseOpen(last, found, watch)
  const key = { ...from, nodeId: checkedId("nodeId", nodeAfter(last.nodeId)) }
  return {
    key,
    async input() {
      const before = await earlierExchanges(config, last)
      const checked = await checkInput(config, key, recalled(config, found.projection, text, options))
      return { ...checked, before }
    },
  }
}

/** The last one with a record: a process that died as it began the next has left a name and nothing else. */
async function lastExchange(
  config: ResolvedConfig,
  from: RunKey,
): Promise<{ readonly last: RunKey; readonly found: FoundRun }> {
  for (const nodeId of (await exchangesFrom(config, from)).toReversed()) {
    const last = { ...from, nodeId }
    const found = await inspectRun(config, last)
    if (found !== null) return { last, found }
  }
  throw noSuchRun(from)
}

async function refuseOpen(key: RunKey, found: FoundRun, watch: OwnerWatch): Promise<void> {
  const { status } = found.projection
  if (status === "paused") {
    throw new LonghaulError("invalid_state", `Run ${key.runId} (node ${key.nodeId}) is paused.`, {
      fix: "Resume it with a decision, or cancel it, before the conversation is continued.",
    })
  }
  if (status !== "running") return
  if ((await watch.look(key, found)) === "alive") throw stillActive(key)
  throw new LonghaulError("invalid_state", `The process of run ${key.runId} (node ${key.nodeId}) is dead.`, {
    fix: "Resume it, or cancel it, before the conversation is continued.",
  })
}

const noInput: Partial<RecordedInput> = {}

/** The settings of the exchange before, unless others are given. */
function recalled(config: ResolvedConfig, run: RunProjection, task: string, options: ContinueInput): RunInput {
  const { input, limits } = run
  const { nodeId: _, ...given } = options
  const { messages: __, model: began, backend: ___, workspace: ____, ...settings } = input ?? noInput
  const model = recalledModel(config, began, given.model)
  const there = new Set([...config.tools, ...(given.tools ?? [])].map(({ name }) => name))
  const allowedTools = run.tools.flatMap(({ name }) => (there.has(name) ? [name] : []))
  return {
    ...settings,
    ...(limits && { limits }),
    allowedTools: [...allowedTools, ...(given.tools ?? []).map(({ name }) => name)],
    ...given,
    ...(model && { model }),
    task,
  }
}
