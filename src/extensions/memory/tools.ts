import type { JsonObject } from "../../contract/json.ts"
import { type Tool, ToolError } from "../../contract/tool.ts"
import { usesNothing } from "../../lib/access/arguments.ts"
import { isJsonObject } from "../../lib/json.ts"
import { fencedData } from "../../lib/text/data-fence.ts"
import type { Episode, Episodes } from "./episodes.ts"
import { type ItemKind, itemId, itemKinds, type MemoryItem, type MemoryItems, mayReplace } from "./items.ts"
import { described, IS_DATA, MEMORY_TAG } from "./remembered.ts"
import { closestTo } from "./search.ts"

/** Writes one item. Its id comes from the call, so that a repeated call writes it once. */
export function memorizeTool(
  items: MemoryItems,
  episodes: Episodes,
  options: { allowRules: boolean; maxItems: number },
): Tool {
  const kinds: readonly ItemKind[] = options.allowRules ? ["lesson", "rule"] : ["lesson"]
  return {
    name: "Memorize",
    description:
      "Remembers a lesson for later runs in this workspace: something that took effort to find out and will be true again. One fact, in a sentence or two, without secrets.",
    inputSchema: {
      type: "object",
      properties: {
        text: { type: "string", minLength: 1, maxLength: MAX_ITEM_LENGTH },
        kind: { type: "string", enum: kinds, description: "Default: lesson." },
        replaces: { type: "string", description: "The id of an item of the same kind that is wrong or out of date." },
      },
      required: ["text"],
      additionalProperties: false,
    },
    uses: usesNothing,
    effect: "repeatable",
    concurrent: true,
    risk: "low",
    async run(args, { idempotencyKey, runId, agent, redact }) {
      const given: JsonObject = isJsonObject(args) ? args : {}
      const kind = kinds.find((each) => each === (given.kind ?? "lesson"))
      // Arguments may have had references to secrets, which are expanded by now.
      const text = redact ? redact(String(given.text ?? "")).trim() : String(given.text ?? "").trim()
      if (kind === undefined) throw new ToolError("denied", "Only people write rules and the profile.")
      if (text === "" || text.length > MAX_ITEM_LENGTH)
        throw new ToolError("invalid_input", "The text is empty or too long.")
      const id = itemId(idempotencyKey)
      if (await items.has(kind, id)) return `Remembered as ${id}.`
      if (await items.isFull(kind, options.maxItems)) {
        const fix = "A person has to delete some, or allow more."
        throw new ToolError(
          "conflict",
          `The memory has ${options.maxItems} items of people, and no room for more. ${fix}`,
        )
      }
      const replaces = typeof given.replaces === "string" && given.replaces !== "" ? given.replaces : undefined
      const item: MemoryItem = {
        id,
        kind,
        text,
        at: new Date().toISOString(),
        run: runId,
        agent,
        replaces,
      }
      if (replaces !== undefined) await checkReplaced(items, item, replaces)
      await items.create(item)
      await items.makeRoom(item, options.maxItems, () => episodes.uses())
      return `Remembered as ${id}.`
    },
  }
}

async function checkReplaced(items: MemoryItems, item: MemoryItem, id: string): Promise<void> {
  const older = (await items.all()).find((each) => each.id === id)
  if (older === undefined) throw new ToolError("not_found", `There is no item ${JSON.stringify(id)} to replace.`)
  if (!mayReplace(item, older)) throw new ToolError("denied", `A person wrote ${id}: only people replace it.`)
}

/** Finds items by words. */
export function recallTool(items: MemoryItems, episodes: Episodes): Tool {
  return {
    name: "Recall",
    description: "Searches what earlier runs in this workspace have learnt and done, by words.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: 1_000 },
        kind: { type: "string", enum: [...itemKinds, "episode"], description: "Default: all kinds." },
        limit: { type: "integer", minimum: 1, maximum: MAX_RESULTS, description: `Default: ${USUAL_RESULTS}.` },
      },
      required: ["query"],
      additionalProperties: false,
    },
    uses: usesNothing,
    effect: "none",
    concurrent: true,
    risk: "low",
    async run(args) {
      const { query, kind, limit } = isJsonObject(args) ? args : {}
      const [all, runs, rules, profile] = await Promise.all([
        items.all(),
        episodes.all(),
        items.document("rules.md"),
        items.document("profile.md"),
      ])
      const documents: readonly MemoryItem[] = [
        ...(rules === "" ? [] : [{ id: "rules.md", kind: "rule" as const, text: rules }]),
        ...(profile === "" ? [] : [{ id: "profile.md", kind: "profile" as const, text: profile }]),
      ]
      const texts = [
        ...[...documents, ...all].map((item) => ({ kind: item.kind, text: item.text, value: described(item) })),
        ...runs.map((run) => ({ kind: "episode", text: `${run.task}\n${run.text}`, value: describedRun(run) })),
      ]
      const among = texts.filter((each) => kind === undefined || each.kind === kind)
      const most = typeof limit === "number" ? Math.min(limit, MAX_RESULTS) : USUAL_RESULTS
      const found = await closestTo(String(query ?? ""), among, most)
      if (found.length === 0) return "Nothing is remembered about this."
      for (const item of all) if (found.includes(described(item))) episodes.use(item.id)
      return `${fencedData(MEMORY_TAG, found.join("\n\n"))}\n${IS_DATA}`
    },
  }
}

function describedRun({ runId, status, at, task, text }: Episode): string {
  return `[episode of run ${runId}, ${status}, ${at}]\nTask: ${task}\nAnswer: ${text}`
}

const MAX_ITEM_LENGTH = 2_000
const USUAL_RESULTS = 5
const MAX_RESULTS = 20
