import type { Model } from "../../src/contract/provider.ts"
import { anthropic } from "../../src/providers/anthropic/index.ts"
import { google } from "../../src/providers/google/index.ts"
import { openai } from "../../src/providers/openai/index.ts"

/** Every protocol that we support, over a fetch that replaces its server. */
export const providersUnderTest: readonly { readonly name: string; model(fetch: typeof globalThis.fetch): Model }[] = [
  { name: "anthropic", model: (fetch) => anthropic({ model: "claude-sonnet-4-6", apiKey: "key", fetch }) },
  { name: "openai responses", model: (fetch) => openai({ model: "gpt-5.5", apiKey: "key", fetch }) },
  { name: "openai chat", model: (fetch) => openai({ model: "gpt-5.5", apiKey: "key", api: "chat", fetch }) },
  { name: "google", model: (fetch) => google({ model: "gemini-2.5-pro", apiKey: "key", fetch }) },
]
