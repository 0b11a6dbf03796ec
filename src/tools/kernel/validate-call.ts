import type { Json } from "../../contract/json.ts"
import type { Tool } from "../../contract/tool.ts"
import { whyTooLarge } from "../../lib/schema/argument-size.ts"
import { innerOf } from "./inner-of.ts"
import { validateInput } from "./validate.ts"

/** Validated arguments for `run`, or every reason why a tool rejects them. */
export type CheckedCall =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly issues: readonly string[]; readonly rejectedBy: Tool }

/** Checks the arguments of a call and, if its tool calls another one, those of the inner call. */
export function validateCall(tool: Tool, args: Json): CheckedCall | Promise<CheckedCall> {
  const tooLarge = whyTooLarge(args)
  if (tooLarge !== undefined) return { ok: false, issues: [tooLarge], rejectedBy: tool }
  if (tool.inner !== undefined) return validateBoth(tool, args)
  const input = validateInput(tool, args)
  return "then" in input
    ? input.then((checked) => (checked.ok ? checked : { ...checked, rejectedBy: tool }))
    : input.ok
      ? input
      : { ...input, rejectedBy: tool }
}

async function validateBoth(tool: Tool, args: Json): Promise<CheckedCall> {
  const outer = await validateInput(tool, args)
  if (!outer.ok) return { ...outer, rejectedBy: tool }
  const inner = innerOf(tool, args)
  if (inner === undefined || inner.tool === tool) return outer
  const checked = await validateInput(inner.tool, inner.args)
  if (!checked.ok) return { ...checked, rejectedBy: inner.tool }
  if (inner.tool.validate !== undefined) return outer
  // Safe: without a validation of its own, a tool gets a copy of its JSON with the defaults of its schema.
  return { ok: true, args: inner.outer(checked.args as Json) }
}
