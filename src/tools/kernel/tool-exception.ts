import type { ToolException } from "../../contract/hooks.ts"
import type { ToolContext } from "../../contract/tool.ts"

/** A tool's exception, for its author. Never throws, whatever was thrown. */
export function describeException(
  error: unknown,
  tool: string,
  step: ToolException["step"],
  { runId, callId }: ToolContext,
  redact: (text: string) => string,
): ToolException {
  const clean = (text: string) => redact(text).slice(0, MAX_LENGTH)
  const at = { runId, callId, tool, step }
  try {
    if (!(error instanceof Error)) return { ...at, name: typeof error, message: clean(String(error)), causes: [] }
    const { name, message, stack } = error
    const causes = causesOf(error).map(clean)
    return {
      ...at,
      name: clean(String(name)),
      message: clean(String(message)),
      ...(stack && { stack: clean(stack) }),
      causes,
    }
  } catch {
    return { ...at, name: "unknown", message: "The exception could not be read.", causes: [] }
  }
}

function causesOf(error: Error): string[] {
  const causes: string[] = []
  let cause: unknown = error.cause
  while (cause !== undefined && causes.length < MAX_CAUSES) {
    causes.push(cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause))
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return causes
}

const MAX_LENGTH = 20_000
const MAX_CAUSES = 5
