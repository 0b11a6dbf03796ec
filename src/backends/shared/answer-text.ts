import type { Answer } from "../../contract/provider.ts"

/** What the model said in a response. */
export function answerText({ parts }: Answer): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("")
}
