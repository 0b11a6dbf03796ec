import type { FilePart, ImagePart } from "../../contract/content.ts"
import type { Json, JsonObject, JsonSchema } from "../../contract/json.ts"
import type { ToolResultPart } from "../../contract/message.ts"
import { plainText } from "../../lib/content.ts"
import { isJsonObject } from "../../lib/json.ts"
import { closedSchema, isStrict } from "../../lib/schema/output-schema.ts"

// Content that both protocols represent the same way.

export function dataUrl({ mediaType, data }: ImagePart | FilePart): string {
  return `data:${mediaType};base64,${data}`
}

/** The protocols require a name for every file. */
export function fileName({ name, mediaType }: FilePart): string {
  return name ?? (mediaType === "application/pdf" ? "document.pdf" : "document")
}

/** Neither protocol can mark a failure: the problem is in the text. */
export function resultText({ output }: ToolResultPart): string {
  return plainText(output, "\n")
}

/** The protocols accept an object, as text; the model's mistake is in the result's error. */
export function argumentsText(args: Json): string {
  return isJsonObject(args) ? JSON.stringify(args) : "{}"
}

/** Strict only if the schema allows it: servers reject it otherwise. */
export function namedSchema(schema: JsonSchema): JsonObject {
  const closed = closedSchema(schema)
  return { name: "answer", schema: closed, strict: isStrict(closed) }
}
