import { native } from "../../src/backends/native/index.ts"
import { anthropic } from "../../src/providers/anthropic/index.ts"
import type { PlacedBackend } from "./backend-place.ts"

/** The tools of the runtime, as every backend without tools of its own has them. */
export const ownVocabulary: PlacedBackend["speaks"] = {
  command: (command) => ({ name: "Bash", args: { command } }),
  write: (path, content) => ({ name: "Write", args: { path, content } }),
  read: (path) => ({ name: "Read", args: { path } }),
  fetch: (url) => ({ name: "WebFetch", args: { url } }),
}

export const placedNative: PlacedBackend = {
  name: "native",
  ours: (name, args) => ({ name, args }),
  speaks: ownVocabulary,
  configure: ({ url, isLoggedOut }) => ({
    backend: native({ retry: { attempts: 1 } }),
    model: anthropic({ model: "claude-sonnet-4-6", baseUrl: url, ...(!isLoggedOut && { apiKey: "key" }) }),
  }),
}
