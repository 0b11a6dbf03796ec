import type { ListPart } from "../contract/store.ts"

/** The part of a sorted listing that was asked for, whatever the store returned. */
export function partOf(names: readonly string[], { after, limit }: ListPart = {}): readonly string[] {
  const behind = after === undefined ? names : names.filter((name) => name > after)
  return limit === undefined ? behind : behind.slice(0, Math.max(0, limit))
}
