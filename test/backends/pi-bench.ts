import { pi } from "../../src/backends/pi/index.ts"
import type { PiModules } from "../../src/backends/pi/shapes.ts"
import type { PlacedBackend } from "../support/backend-place.ts"
import { ownVocabulary } from "../support/placed-native.ts"
import { programs } from "./programs.ts"

export const loadPi = async (): Promise<PiModules> => ({
  agent: await import(programs.piAgent),
  ai: await import(programs.piAi),
})

export const placedPi: PlacedBackend = {
  name: "pi",
  ours: (name, args) => ({ name, args }),
  speaks: ownVocabulary,
  configure: ({ url, isLoggedOut }) => ({
    backend: pi({ load: loadPi, baseUrl: url, resolvePiApiKey: () => (isLoggedOut ? undefined : "key") }),
    model: "anthropic:claude-sonnet-4-5",
  }),
}
