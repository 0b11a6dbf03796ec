import type { JsonSchema } from "../../../contract/json.ts"
import { texts } from "../../../lib/schema/contract-shapes.ts"
import { listOf, required, type Shape, shapeOf, words } from "../../../lib/schema/shape.ts"
import { type ApiMethod, methods } from "../method.ts"

/** One operation of an OpenAPI document. */
export interface Operation {
  readonly id: string
  readonly method: ApiMethod
  /** With its parameters in braces. */
  readonly path: string
  readonly summary: string
  readonly parameters: readonly OperationParameter[]
  /** Absent: it takes no JSON body. */
  readonly body?: { readonly required: boolean; readonly schema: JsonSchema } | undefined
  /** Patterns of the document that values are not checked against, because they cannot run in linear time. */
  readonly unchecked: readonly string[]
  /** It is a tool of its own, too. */
  readonly asTool: boolean
}

export interface OperationParameter {
  readonly name: string
  readonly in: "path" | "query"
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

export const operationShape: Shape<Operation> = {
  id: required("text"),
  method: required(words(...methods)),
  path: required("text"),
  summary: required("text"),
  parameters: required(
    listOf(
      shapeOf<OperationParameter>({
        name: required("text"),
        in: required(words("path", "query")),
        required: required("boolean"),
        description: "text",
        schema: required("object"),
      }),
    ),
  ),
  body: shapeOf<NonNullable<Operation["body"]>>({ required: required("boolean"), schema: required("object") }),
  unchecked: required(texts),
  asTool: required("boolean"),
}

/** Matches the paths of an operation; its groups are the parameters, in their order. */
export function pathPattern(template: string): RegExp {
  const segments = template.split("/").map((segment) => {
    // Texts and parameters in turn.
    const parts = segment.split(/(\{[^{}]*\})/)
    return parts
      .map((part, index) => (index % 2 === 0 ? escaped(part) : parameterBefore(parts.slice(index + 1))))
      .join("")
  })
  return new RegExp(`^${segments.join("/")}$`)
}

/**
 * A document is untrusted: with parameters that could end in several places, a path that does not match would be tried in each
 * combination. So a parameter ends where the next text begins, and of two without a text between them the first has one character.
 */
function parameterBefore([next = "", ...others]: readonly string[]): string {
  if (others.length === 0) return "([^/]+)"
  return next === "" ? "([^/])" : `((?:(?!${escaped(next)})[^/])+)`
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
}

export function namesIn(template: string): readonly string[] {
  return [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name)
}
