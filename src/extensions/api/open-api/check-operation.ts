import type { Json, JsonObject } from "../../../contract/json.ts"
import { ToolError } from "../../../contract/tool.ts"
import { schemaIssues } from "../../../lib/json-schema.ts"
import type { ApiMethod } from "../method.ts"
import type { CheckedService } from "../service.ts"
import { namesIn, type Operation, pathPattern } from "./operation.ts"

interface CheckedCall {
  readonly method: ApiMethod
  /** In its canonical form. */
  readonly path: string
  readonly query: JsonObject
  readonly body: Json | undefined
}

/** Throws a `ToolError` unless a call is one of the service's operations and its arguments fit. */
export async function checkOperation({ name, operations }: CheckedService, call: CheckedCall): Promise<void> {
  if (operations === undefined) return
  const operation = operationFor(operations, call)
  if (operation === undefined) {
    throw new ToolError("denied", `${name} has no operation ${call.method} ${call.path}. ApiSearch finds those it has.`)
  }
  const issues = [
    ...(await pathIssues(operation, call.path)),
    ...(await queryIssues(operation, call.query)),
    ...(await bodyIssues(operation, call.body)),
  ]
  if (issues.length > 0) throw new ToolError("invalid_input", `Invalid call of ${operation.id}:\n${issues.join("\n")}`)
}

/** Of several that match, the one with the fewest parameters: `/pets/mine` is not a pet. */
function operationFor(operations: readonly Operation[], { method, path }: CheckedCall): Operation | undefined {
  const matching = operations.filter((each) => each.method === method && pathPattern(each.path).test(path))
  return matching.sort((left, right) => namesIn(left.path).length - namesIn(right.path).length)[0]
}

async function pathIssues({ path: template, parameters }: Operation, path: string): Promise<readonly string[]> {
  const values = pathPattern(template).exec(path)?.slice(1) ?? []
  const issues: string[] = []
  for (const [index, name] of namesIn(template).entries()) {
    const schema = parameters.find((each) => each.in === "path" && each.name === name)?.schema ?? {}
    issues.push(
      ...(await schemaIssues(schema, readAs(schema, decodeURIComponent(values[index] ?? "")), `path/${name}`)),
    )
  }
  return issues
}

/** A path has only texts. */
function readAs({ type }: JsonObject, text: string): Json {
  if ((type === "integer" || type === "number") && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text)
  return type === "boolean" && /^(?:true|false)$/.test(text) ? text === "true" : text
}

async function queryIssues({ parameters }: Operation, query: JsonObject): Promise<readonly string[]> {
  const known = parameters.filter((each) => each.in === "query")
  const issues = Object.keys(query)
    .filter((name) => !known.some((each) => each.name === name))
    .map((name) => `query/${name}: unknown. Known: ${known.map((each) => each.name).join(", ") || "none"}`)
  for (const { name, required, schema } of known) {
    const value = Object.hasOwn(query, name) ? query[name] : undefined
    if (value !== undefined) issues.push(...(await schemaIssues(schema, value, `query/${name}`)))
    else if (required) issues.push(`query/${name}: required`)
  }
  return issues
}

async function bodyIssues({ body }: Operation, given: Json | undefined): Promise<readonly string[]> {
  if (given === undefined) return body?.required ? ["body: required"] : []
  return body === undefined ? ["body: this operation takes none"] : schemaIssues(body.schema, given, "body")
}
