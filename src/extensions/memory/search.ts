import { wordsOf } from "../../lib/text/words.ts"

/** A text that can be found, with what it stands for. */
export interface Found<Value> {
  readonly text: string
  readonly value: Value
}

/** The items that have words of the query, the closest first. */
export async function closestTo<Value>(
  query: string,
  among: readonly Found<Value>[],
  limit: number,
): Promise<readonly Value[]> {
  if (among.length === 0) return []
  const { default: MiniSearch } = await import("minisearch")
  const index = new MiniSearch<{ id: number; text: string }>({ fields: ["text"], tokenize: wordsOf })
  index.addAll(among.map(({ text }, id) => ({ id, text })))
  const hits = index.search(query.slice(0, MAX_QUERY_LENGTH), { prefix: (term) => term.length > 3, fuzzy: 0.1 })
  return hits.slice(0, limit).flatMap(({ id }) => among[Number(id)]?.value ?? [])
}

const MAX_QUERY_LENGTH = 2_000
