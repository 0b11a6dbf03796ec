import { LonghaulError } from "../../../contract/error.ts"
import type { Json, JsonObject } from "../../../contract/json.ts"
import type { Tool } from "../../../contract/tool.ts"
import { isJsonObject } from "../../../lib/json.ts"
import { type ApiCalls, callApi, seenByPolicy } from "../call.ts"
import { type CheckedService, effectOfMethod } from "../service.ts"
import { jsonArgs } from "../tool.ts"
import { apiUses } from "../uses.ts"
import { namesIn, type Operation } from "./operation.ts"
import { schemaOf } from "./search.ts"

/** The operations that are tools of their own. Policies see them as calls of ApiCall. */
export function operationTools(calls: ApiCalls, services: readonly CheckedService[]): readonly Tool[] {
  return services.flatMap((service) =>
    (service.operations ?? [])
      .filter(({ asTool }) => asTool)
      .map((operation) => operationTool(calls, service, operation)),
  )
}

function operationTool(calls: ApiCalls, service: CheckedService, operation: Operation): Tool {
  const { id, method, summary, parameters, body } = operation
  const names = [...parameters.map((each) => each.name), ...(body ? ["body"] : [])]
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) {
    throw new LonghaulError("config_invalid", `The operation ${id} has two arguments ${JSON.stringify(twice)}.`, {
      fix: "Remove it from asTools: ApiCall can call it.",
    })
  }
  const schema = schemaOf(parameters)
  const properties = isJsonObject(schema.properties) ? schema.properties : {}
  const required = [...parameters, ...(body ? [{ name: "body", required: body.required }] : [])].filter(
    (each) => each.required,
  )
  const effect = effectOfMethod(method, service)
  const tool: Tool = {
    name: `${service.name}_${id}`.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64),
    policyName: "ApiCall",
    description: summary || `${method} ${operation.path} of ${service.name}.`,
    inputSchema: {
      type: "object",
      properties: { ...properties, ...(body && { body: body.schema }) },
      required: required.map(({ name }) => name),
      additionalProperties: false,
    },
    uses: apiUses,
    effect,
    concurrent: effect === "none",
    risk: "medium",
    inner: (args) => seenByPolicy(calls.services, tool, args, callOf(service, operation, args)),
    run: (args, context) => callApi(calls, callOf(service, operation, jsonArgs(args)), context),
  }
  return tool
}

/** The arguments of ApiCall. */
function callOf(service: CheckedService, { method, path, parameters, body }: Operation, args: Json): JsonObject {
  const given = isJsonObject(args) ? args : {}
  const inQuery = parameters.filter((each) => each.in === "query" && Object.hasOwn(given, each.name))
  const query = Object.fromEntries(inQuery.map(({ name }): [string, Json] => [name, given[name] ?? null]))
  let filled = path
  for (const name of namesIn(path)) {
    const value = given[name]
    const text = typeof value === "object" ? JSON.stringify(value) : String(value ?? "")
    filled = filled.replace(`{${name}}`, () => encodeURIComponent(text))
  }
  return {
    service: service.name,
    method,
    path: filled,
    query,
    ...(body && given.body !== undefined && { body: given.body }),
  }
}
