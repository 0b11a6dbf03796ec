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
  /** The ids of the lessons and other items that it was given or has found. */
  readonly used: readonly string[]
}

/** The runs that have ended, in files whose names begin with the time. */
export class Episodes {
  readonly #used = new Set<string>()
  #uses: Promise<ReadonlyMap<string, number>> | undefined
  readonly #folder: ReturnType<ExtensionRun["shared"]["folder"]>

  constructor(shared: ExtensionRun["shared"], space: string | undefined) {
    this.#folder = shared.folder(`${memoryFolder(space)}/episodes`)
  }

  /** Notes that this run has an item. */
  use(id: string): void {
    this.#used.add(id)
  }

  /** How often each item was used by the newest runs. */
  uses(): Promise<ReadonlyMap<string, number>> {
    this.#uses ??= this.all().then((episodes) => countsOf(episodes.flatMap(({ used }) => used)))
    return this.#uses
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
      tools: Object.fromEntries(countsOf(result.toolCalls.map(({ name }) => name))),
      used: [...this.#used],
    }
    // A hyphen can be part of either id.
    const own = `~${runId}~${nodeId}.json`
    const earlier = (await this.#folder.list()).filter((name) => name.endsWith(own))
    const others = await Promise.all(earlier.map((name) => this.#read(name)))
    if (others.some((other) => other?.status === status && other.text === episode.text)) return
    await this.#folder.create(`${timeName(episode.at)}${own}`, new TextEncoder().encode(JSON.stringify(episode)))
  }

  async all(): Promise<readonly Episode[]> {
    const names = (await this.#folder.list()).filter((name) => name.endsWith(".json"))
    // Those of earlier versions have no time in their names, and are older.
    const newest = [...names.filter((name) => !TIMED.test(name)), ...names.filter((name) => TIMED.test(name))]
    const read = await Promise.all(newest.slice(-MAX_READ).map((name) => this.#read(name)))
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
    used: Array.isArray(value.used) ? value.used.filter((id) => typeof id === "string") : [],
  }
}

/** In the order of time, and without characters that a file cannot have in its name. */
function timeName(at: string): string {
  return at.replaceAll(/[^\dTZ]/g, "")
}

function countsOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

const MAX_TASK_LENGTH = 2_000
const MAX_ANSWER_LENGTH = 4_000
const TIMED = /^\d{8}T\d{9}Z~/
const MAX_READ = 500
