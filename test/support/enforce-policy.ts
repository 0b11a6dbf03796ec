import type { ToolPolicy, ToolUse } from "../../src/policy/service/tool-use.ts"

/** A policy by text: denies `forbidden`, rewrites `change me`, and blocks outputs with SECRET. Records what it was asked. */
export function textPolicy(): ToolPolicy & {
  readonly asked: ToolUse[]
  readonly scanned: string[]
  readonly events: string[]
} {
  const asked: ToolUse[] = []
  const scanned: string[] = []
  const events: string[] = []
  return {
    asked,
    scanned,
    events,
    async preTool(use) {
      asked.push(use)
      const text = JSON.stringify(use.toolInput)
      if (text.includes("forbidden")) return { decision: "deny", reason: "Not allowed." }
      return text.includes("change me") ? { decision: "allow", args: { text: "changed" } } : { decision: "allow" }
    },
    async postTool(_use, { toolOutput = "" }) {
      scanned.push(toolOutput)
      return toolOutput.includes("SECRET") ? { decision: "block", reason: "Withheld." } : { decision: "allow" }
    },
    async send({ event }) {
      events.push(event)
    },
  }
}

/** Fails in every stage. */
export const brokenPolicy: ToolPolicy = {
  preTool: () => Promise.reject(new Error("down")),
  postTool: () => Promise.reject(new Error("down")),
}
