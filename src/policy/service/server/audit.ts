import type { JsonObject } from "../../../contract/json.ts"
import type { CallMessage, Route } from "./requests.ts"

/** One line of the audit log: the request without outputs, who sent it, and what was decided. */
export type AuditRecord = JsonObject & {
  readonly at: string
  readonly kind: Route
  readonly subject: string
  readonly sessionId: string
}

export function auditRecord(
  kind: Route,
  { toolOutput, stdout, stderr, at: sentAt, ...message }: CallMessage,
  subject: string,
  decision: JsonObject | undefined,
): AuditRecord {
  const outputBytes = [toolOutput, stdout, stderr].reduce((sum, text) => sum + (text?.length ?? 0), 0)
  return {
    at: new Date().toISOString(),
    kind,
    subject,
    sentAt,
    ...message,
    ...(kind === "post-tool" && { outputCharacters: outputBytes }),
    ...(decision && { verdict: decision }),
  }
}
