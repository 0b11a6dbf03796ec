import type { Backend } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import { newNonce } from "../../lib/id.ts"
import { defaultRetry, type RetryPolicy } from "../../lib/retry.ts"
import { createControls } from "./controls.ts"
import { Dialogue } from "./dialogue.ts"
import { runLoop } from "./loop.ts"

export interface NativeOptions {
  readonly retry?: Partial<RetryPolicy>
}

/** Our own loop over any model. Its sessions live in the journal alone. */
export function native(options: NativeOptions = {}): Backend {
  return {
    name: "native",
    capabilities: { history: "messages", edge: true },
    async open(request, env) {
      const { model } = request
      if (model === undefined || typeof model === "string") {
        throw new LonghaulError("config_invalid", "The native backend needs a model.", {
          fix: 'Pass one, such as model: anthropic({ model: "claude-sonnet-4-6", apiKey }).',
        })
      }
      const controls = createControls()
      const dialogue = new Dialogue(request.from.messages)
      const conversation = model.converse({
        tools: request.tools,
        transport: env.transport,
        ...(request.system !== undefined && { system: request.system }),
        ...(request.maxOutputTokens !== undefined && { maxOutputTokens: request.maxOutputTokens }),
        ...(request.temperature !== undefined && { temperature: request.temperature }),
      })
      return {
        ref: { backend: "native", version: "1", id: newNonce(), cwd: request.cwd, resumable: true },
        run(input, host) {
          if (input.kind === "prompt") dialogue.add({ role: "user", content: input.content })
          return runLoop({
            dialogue,
            conversation,
            controls,
            origin: `${model.provider}:${model.id}`,
            turnLimit: request.limits.turns,
            retry: { ...defaultRetry, ...options.retry },
            host,
          })
        },
        interrupt: (mode) => controls.interrupt(mode),
        close: async () => controls.interrupt("immediate"),
      }
    },
  }
}
