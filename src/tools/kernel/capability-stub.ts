import { type Tool, ToolError } from "../../contract/tool.ts"
import { checkShape, required } from "../../lib/schema/shape.ts"
import { defineTool } from "./define-tool.ts"

export interface CapabilityStubOptions {
  readonly name: string
  readonly description: string
}

/** A tool that is offered to a model but never runs: every call is rejected. */
export function capabilityStub(options: CapabilityStubOptions): Tool {
  checkShape<CapabilityStubOptions>("capabilityStub", options, {
    name: required("text"),
    description: required("text"),
  })
  const { name, description } = options
  return defineTool({
    name,
    description,
    effect: "none",
    inputSchema: { type: "object" },
    run: () => {
      throw new ToolError("denied", `${name} is not available in this environment. Nothing was done.`)
    },
  })
}
