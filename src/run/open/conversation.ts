import { LonghaulError } from "../../contract/error.ts"
import type { Message } from "../../contract/message.ts"
import type { AlwaysScope } from "../../contract/policy.ts"
import type { RunKey } from "../../contract/store.ts"
import { nodesPath } from "../../journal/paths.ts"
import type { RunProjection } from "../../journal/projection.ts"
import { type FoundRun, inspectRun } from "../../runs/read-runs.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import type { EarlierExchanges } from "../../settings/input/input.ts"

/** The nodes of a conversation, in order, starting with the given exchange. */
export async function exchangesFrom(
  { store }: Pick<ResolvedConfig, "store">,
  { workspaceId, runId, nodeId }: RunKey,
): Promise<readonly [string, ...string[]]> {
  const there = new Set(await store.list(nodesPath(workspaceId, runId)))
  const nodes: [string, ...string[]] = [nodeId]
  for (let next = nodeAfter(nodeId); there.has(next); next = nodeAfter(next)) nodes.push(next)
  return nodes
}

/** All messages of a conversation up to the end of an exchange, and what people allowed in it. */
export async function earlierExchanges(config: ResolvedConfig, last: RunKey): Promise<EarlierExchanges> {
  const exchanges: FoundRun[] = []
  const allowed: AlwaysScope[] = []
  for (let nodeId: string | undefined = last.nodeId; nodeId !== undefined; ) {
    const found: FoundRun | null = await inspectRun(config, { ...last, nodeId })
    if (found === null) throw incomplete(last, nodeId)
    exchanges.unshift(found)
    allowed.push(...found.projection.allowed)
    nodeId = found.projection.continues
  }
  let messages: readonly Message[] = []
  for (const { projection } of exchanges) {
    const said = projection.context.after(messages)
    messages = said.map(({ turn, message }) => (turn === 0 ? message : withoutRefs(message, projection.calls)))
  }
  const extensions = [...(exchanges.at(-1)?.projection.extensions.values() ?? [])]
  return { nodeId: last.nodeId, messages, allowed, extensions }
}

/**
 * A message of an exchange for the next one. Its references end with it: calls of the next exchange have the same ids, so a
 * reference would lead to another result.
 */
function withoutRefs(message: Message, calls: RunProjection["calls"]): Message {
  const isOffloaded = (callId: string) => {
    const stored = calls.get(callId)?.stored
    return stored !== undefined && "bytes" in stored
  }
  if (message.role !== "tool" || !message.content.some(({ callId }) => isOffloaded(callId))) return message
  const content = message.content.map((part) =>
    isOffloaded(part.callId) ? { ...part, output: [...part.output, refHasEnded] } : part,
  )
  return { ...message, content }
}

const refHasEnded = {
  type: "text",
  text: "[This is from an earlier exchange: FetchData no longer returns it. Run the tool again if you need it.]",
} as const

/** `main`, `main__2`, `main__3` … */
export function nodeAfter(nodeId: string): string {
  const [, base = nodeId, number = "1"] = /^(.+)__(\d{1,9})$/.exec(nodeId) ?? []
  return `${base}__${Number(number) + 1}`
}

/** The node of the first exchange of a conversation. */
export function firstNode(nodeId: string): string {
  return /^(.+)__\d{1,9}$/.exec(nodeId)?.[1] ?? nodeId
}

function incomplete({ runId }: RunKey, nodeId: string): LonghaulError {
  return new LonghaulError(
    "storage",
    `The conversation of run ${runId} is incomplete: its node ${nodeId} is missing.`,
    {
      retryable: false,
      fix: "Start another run: the earlier messages no longer exist.",
    },
  )
}
