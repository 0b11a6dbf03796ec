import type { JsonSchema } from "../../contract/json.ts"

/** The system prompt with the form of the final answer, for models whose vendor does not enforce it. */
export function withOutputForm(system: string | undefined, schema: JsonSchema | undefined): string | undefined {
  if (schema === undefined) return system
  const form = `Your final answer must consist of JSON only, matching this JSON Schema:\n${JSON.stringify(schema)}`
  return system === undefined ? form : `${system}\n\n${form}`
}
