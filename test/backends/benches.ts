import type { PlacedBackend } from "../support/backend-place.ts"
import { placedNative } from "../support/placed-native.ts"
import { placedCopilot, placedGemini, placedOpencode } from "./acp-bench.ts"
import { placedClaudeSdk } from "./claude-bench.ts"
import { placedClaudeCli } from "./claude-place.ts"
import { placedCodex } from "./codex-bench.ts"
import { placedPi } from "./pi-bench.ts"

/** The backends of the tests that combine several: one of the agents that speak ACP stands for all. */
export const placedBackends: readonly PlacedBackend[] = [
  placedNative,
  placedClaudeSdk,
  placedClaudeCli,
  placedCodex,
  placedPi,
  placedCopilot,
]

export const allBackends: readonly PlacedBackend[] = [...placedBackends, placedGemini, placedOpencode]
