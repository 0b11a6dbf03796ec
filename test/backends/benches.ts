import type { PlacedBackend } from "../support/backend-place.ts"
import { placedNative } from "../support/placed-native.ts"
import { placedClaudeCli, placedClaudeSdk } from "./claude-bench.ts"
import { placedCodex } from "./codex-bench.ts"
import { placedPi } from "./pi-bench.ts"

/** The backends of the tests that combine several. */
export const placedBackends: readonly PlacedBackend[] = [
  placedNative,
  placedClaudeSdk,
  placedClaudeCli,
  placedCodex,
  placedPi,
]
