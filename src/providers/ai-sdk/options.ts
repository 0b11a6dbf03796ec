import { texts, textsByName } from "../../lib/schema/contract-shapes.ts"
import { recordOf, type Shape, shapeOf } from "../../lib/schema/shape.ts"
import type { StreamDeadlines } from "../deadline.ts"
import { deadlinesShape } from "../options.ts"
import type { ProviderData } from "./model.ts"

/** Defaults for a run. Keys, addresses and transport belong to the model: they are passed to its package. */
export interface AiSdkOptions {
  /** Default maximum tokens of one answer. */
  readonly maxOutputTokens?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
  readonly stopSequences?: readonly string[]
  /** Added to every request. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Passed to the package with every call, such as `{ openai: { reasoningEffort: "low" } }`. For models of
   * specification v3 this is the only way to set the effort.
   */
  readonly providerOptions?: ProviderData
  readonly deadlines?: Partial<StreamDeadlines>
}

export const optionsShape: Shape<AiSdkOptions> = {
  maxOutputTokens: "number",
  topP: "number",
  topK: "number",
  seed: "number",
  stopSequences: texts,
  headers: textsByName,
  providerOptions: recordOf("object"),
  deadlines: shapeOf<Partial<StreamDeadlines>>(deadlinesShape),
}
