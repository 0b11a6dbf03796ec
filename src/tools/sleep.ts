import type { Tool } from "../contract/tool.ts"
import { delay } from "../lib/abort.ts"
import { usesNothing } from "../lib/access/arguments.ts"
import { defineTool } from "./kernel/define-tool.ts"
import { stopIfAborted } from "./shared.ts"

/** Sleep: waits for some milliseconds. */
export function sleepTool(): Tool {
  return defineTool({
    name: "Sleep",
    description:
      "Waits and does nothing else, for example until a job elsewhere has progressed. " +
      `At most ${maxMs} milliseconds (${maxMs / 60_000} minutes) at a time.`,
    uses: usesNothing,
    effect: "none",
    inputSchema: {
      type: "object",
      properties: {
        ms: { type: "integer", minimum: 0, maximum: maxMs, description: "Number of milliseconds to wait." },
      },
      required: ["ms"],
      additionalProperties: false,
    },
    run: async ({ ms }: { readonly ms: number }, context) => {
      await delay(ms, context.signal)
      stopIfAborted(context)
      return `Waited ${ms} ms.`
    },
  })
}

const maxMs = 300_000
