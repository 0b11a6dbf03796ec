import type { Failure } from "../../../contract/error.ts"
import type { Usage } from "../../../contract/result.ts"
import { isJsonObject } from "../../../lib/json.ts"
import { windowIn } from "../../../lib/overflow-texts.ts"

/** The window according to a refusal, in the wording of known servers. */
export function windowToldBy({ message }: Failure, usage: Usage | undefined): number | undefined {
  const { inputTokens, outputTokens } = usage ?? { inputTokens: null, outputTokens: null }
  // The answer stopped where the window ended. Some servers report nothing for it.
  if (inputTokens !== null && outputTokens !== null && inputTokens > 0)
    return inputTokens + outputTokens + (usage?.cacheReadTokens ?? 0) + (usage?.cacheWriteTokens ?? 0)
  return windowIn(message)
}

/** True for a limit of the server on the size of a body. */
export function isAboutBytes({ message, data }: Failure): boolean {
  const status = isJsonObject(data) ? data.status : undefined
  return /payload size/i.test(message) || (status === 413 && !/token|context/i.test(message))
}
