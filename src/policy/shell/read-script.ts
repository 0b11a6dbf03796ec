import { parse } from "unbash"
import { listCall } from "./list-call.ts"
import type { Call, Listing } from "./listing.ts"
import { readTree } from "./read-tree.ts"
import { reject } from "./unreadable.ts"

const MAX_SCRIPT_DEPTH = 5

/** Where a script is run from: `variables` are set for all of it, `depth` counts `sh -c` and `eval` around it. */
export interface ScriptPlace {
  readonly variables: readonly string[]
  readonly depth: number
}

/** Adds every command of a script to the listing, and those of the scripts that it passes to `sh -c` or `eval`. */
export function readScript(source: string, listing: Listing, { variables, depth }: ScriptPlace): void {
  if (depth > MAX_SCRIPT_DEPTH) reject(`scripts are nested more than ${MAX_SCRIPT_DEPTH} deep`)
  const start = (call: Call) =>
    listCall(call, variables, {
      listing,
      readNested: (text, inner) => readScript(text, listing, { variables: inner, depth: depth + 1 }),
    })
  readTree(parse(source), listing, start)
}
