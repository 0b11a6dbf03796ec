import type { ExtensionRun } from "../../contract/extension.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { RunResult } from "../../contract/result.ts"
import { isJsonObject } from "../../lib/json.ts"
import { memoryFolder } from "./items.ts"

/** A run that has ended, in short. */
export interface Episode {
  readonly runId: string
  readonly nodeId: string
  readonly at: string
  readonly task: string
  readonly status: string
  readonly text: string
  readonly tools: Readonly<Record<string, number>>
}

export class Episodes {
  readonly #folder: ReturnType<ExtensionRun["shared"]["folder"]>

  constructor(shared: ExtensionRun["shared"], space: string | undefined) {
    this.#folder = shared.folder(`${memoryFolder(space)}/episodes`)
  }

  /** A run that failed and was resumed has one more. */
  async write(task: string, result: RunResult): Promise<void> {
    const { runId, nodeId, status, text } = result
    const episode = {
      runId,
      nodeId,
      at: new Date().toISOString(),
      task: task.slice(0, MAX_TASK_LENGTH),
      status,
      text: text.slice(0, MAX_ANSWER_LENGTH),
      ...(result.error && { error: result.error.code }),
      turns: result.turns,
      tools: countsOf(result.toolCalls.map(({ name }) => name)),
    }
    const bytes = new TextEncoder().encode(JSON.stringify(episode))
    // A hyphen can be part of either id.
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const name = `${runId}~${nodeId}${attempt === 1 ? "" : `~${attempt}`}.json`
      if ((await this.#folder.create(name, bytes)) === "created") return
      const other = await this.#read(name)
      if (other?.status === status && other.text === episode.text) return
    }
  }

  async all(): Promise<readonly Episode[]> {
    const names = (await this.#folder.list()).filter((name) => name.endsWith(".json")).slice(-MAX_READ)
    const read = await Promise.all(names.map((name) => this.#read(name)))
    return read.flatMap((episode) => episode ?? []).toSorted((left, right) => (left.at < right.at ? 1 : -1))
  }

  async #read(name: string): Promise<Episode | undefined> {
    const bytes = await this.#folder.read(name)
    if (bytes === null) return undefined
    try {
      const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
      return isJsonObject(value) ? episodeOf(value) : undefined
    } catch {
      return undefined
    }
  }
}

function episodeOf(value: JsonObject): Episode {
  const text = (name: string) => (typeof value[name] === "string" ? value[name] : "")
  const tools = isJsonObject(value.tools)
    ? Object.entries(value.tools).map(([name, count]) => [name, Number(count)])
    : []
  return {
    runId: text("runId"),
    nodeId: text("nodeId"),
    at: text("at"),
    task: text("task"),
    status: text("status"),
    text: text("text"),
    tools: Object.fromEntries(tools),
  }
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.fromEntries(counts)
}

const MAX_TASK_LENGTH = 2_000
const MAX_ANSWER_LENGTH = 4_000
const MAX_ATTEMPTS = 20
const MAX_READ = 500
