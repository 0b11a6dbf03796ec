import { native } from "../../src/backends/native/index.ts"
import { anthropic } from "../../src/providers/anthropic/index.ts"
import type { PlacedBackend } from "./backend-place.ts"

export const placedNative: PlacedBackend = {
  name: "native",
  ours: (name, args) => ({ name, args }),
  configure: ({ url, isLoggedOut }) => ({
    backend: native({ retry: { attempts: 1 } }),
    model: anthropic({ model: "claude-sonnet-4-6", baseUrl: url, ...(!isLoggedOut && { apiKey: "key" }) }),
  }),
}
