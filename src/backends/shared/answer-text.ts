import type { Answer } from "../../contract/provider.ts"

/** The text of the model in a response. */
export function answerText({ parts }: Answer): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("")
}
