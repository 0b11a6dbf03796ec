import { claudeCli } from "../../src/backends/claude-cli/index.ts"
import { claudeSdk } from "../../src/backends/claude-sdk/index.ts"
import type { BackendBench, BackendPlace, PlaceOptions } from "../../src/testing/index.ts"
import { openPlace, type PlacedBackend, type PlaceFacts } from "../support/backend-place.ts"
import { type Create, claude, configured, placedClaudeCli } from "./claude-place.ts"
import { programs } from "./programs.ts"

export interface ClaudePlace extends BackendPlace, PlaceFacts {}

export interface ClaudeBench extends BackendBench {
  /** `command`: another program than the real one. */
  open(options: PlaceOptions & { readonly command?: string }): Promise<ClaudePlace>
}

const sdk = await import(programs.claudeSdk)
const createSdk: Create = (options) => claudeSdk({ ...options, sdk })

export const placedClaudeSdk = claude("claude-sdk", createSdk)
export const claudeCliBench = claudeBench(placedClaudeCli, claudeCli)
export const claudeSdkBench = claudeBench(placedClaudeSdk, createSdk)

function claudeBench(placed: PlacedBackend, create: Create): ClaudeBench {
  return {
    ...placed,
    async open(options) {
      const { command = programs.claude } = options
      let facts: PlaceFacts | undefined
      const place = await openPlace(options, (given) => {
        facts = given
        return configured(create, command, given)
      })
      if (facts === undefined) throw new Error("The place has no facts")
      return { ...place, ...facts }
    },
  }
}
