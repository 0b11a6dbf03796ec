import { LonghaulError } from "../../../contract/error.ts"
import type { Json, JsonObject } from "../../../contract/json.ts"
import { isJsonObject } from "../../../lib/json.ts"
import { texts } from "../../../lib/schema/contract-shapes.ts"
import { linearSchema } from "../../../lib/schema/linear-schema.ts"
import { checkArgument, checkShape, having, listOf, required, type Shape } from "../../../lib/schema/shape.ts"
import { type ApiMethod, methods } from "../method.ts"
import { type ApiService, type ApiServices, checkedService, settingsShape } from "../service.ts"
import { namesIn, type Operation, type OperationParameter, pathPattern } from "./operation.ts"
import { readDocument, resolver } from "./read-document.ts"

export interface OpenApiOptions extends Omit<ApiService, "allowedMethods" | "allowedPaths" | "baseUrl" | "operations"> {
  /** The name of the service. */
  readonly name: string
  /** Ids of operations; a pattern matches whole ids. Default: all. */
  readonly include?: readonly (string | RegExp)[]
  /** Operations that are tools of their own, too. Keep them few: the model gets each with every request. */
  readonly asTools?: readonly string[]
  /** Default: the document's first server. */
  readonly baseUrl?: string
}

/** A service from an OpenAPI 3 document: as JSON, as YAML, or as an object. Only its operations can be called. */
export async function openApiService(document: string | JsonObject, options: OpenApiOptions): Promise<ApiServices> {
  checkArgument("document", document, ["text", "object"])
  checkShape<OpenApiOptions>("openApiService", options, optionsShape)
  const { name, include, asTools = [], baseUrl, ...settings } = options
  const read = await readDocument(document)
  const all = operationsOf(read, asTools)
  const wanted = all.filter(({ id }) => include === undefined || include.some((each) => matches(each, id)))
  const operations = await Promise.all(wanted.map(inLinearTime))
  const ids = (include ?? []).filter((each) => typeof each === "string")
  for (const id of [...ids, ...asTools]) {
    if (!operations.some((operation) => operation.id === id)) throw unknownOperation(name, id)
  }
  const { info } = read
  const title = isJsonObject(info) && typeof info.title === "string" ? { description: info.title.slice(0, 200) } : {}
  const service: ApiService = {
    ...title,
    ...settings,
    baseUrl: baseUrl ?? serverOf(read),
    allowedMethods: methods.filter((method) => operations.some((operation) => operation.method === method)),
    allowedPaths: [...new Set(operations.map(({ path }) => path))].map(pathPattern),
    operations,
  }
  checkedService(name, service)
  return { [name]: service }
}

function matches(pattern: string | RegExp, id: string): boolean {
  return typeof pattern === "string" ? pattern === id : id.match(pattern)?.[0] === id
}

/** A document is untrusted: its patterns must not block the process. */
async function inLinearTime(operation: Operation): Promise<Operation> {
  const { parameters, body } = operation
  const linear = await Promise.all(parameters.map(({ schema }) => linearSchema(schema)))
  const linearBody = body && (await linearSchema(body.schema))
  return {
    ...operation,
    parameters: parameters.map((parameter, index) => ({ ...parameter, schema: linear[index]?.schema ?? {} })),
    ...(body && { body: { ...body, schema: linearBody?.schema ?? {} } }),
    unchecked: [...linear, ...(linearBody ? [linearBody] : [])].flatMap(({ dropped }) => dropped),
  }
}

function operationsOf(document: JsonObject, asTools: readonly string[]): readonly Operation[] {
  const resolve = resolver(document)
  const { paths } = document
  return Object.entries(isJsonObject(paths) ? paths : {}).flatMap(([path, given]) => {
    const item = isJsonObject(given) && given.$ref !== undefined ? resolve(given) : given
    if (!isJsonObject(item)) return []
    return methods.flatMap((method) => {
      const operation = item[method.toLowerCase()]
      return isJsonObject(operation) ? [operationOf(path, method, item, operation, resolve, asTools)] : []
    })
  })
}

function operationOf(
  path: string,
  method: ApiMethod,
  item: JsonObject,
  operation: JsonObject,
  resolve: (part: Json | undefined) => Json,
  asTools: readonly string[],
): Operation {
  const { operationId, summary, description, parameters, requestBody } = operation
  const id = typeof operationId === "string" ? operationId : `${method} ${path}`
  const body = bodyOf(resolve(requestBody))
  const given = [item.parameters, parameters].flatMap((list) => (Array.isArray(list) ? list : []))
  const byName = new Map(
    given.flatMap((each) => parameterOf(resolve(each))).map((each) => [`${each.in} ${each.name}`, each]),
  )
  for (const name of namesIn(path)) {
    // A document may leave out what the path says.
    if (!byName.has(`path ${name}`))
      byName.set(`path ${name}`, { name, in: "path", required: true, schema: { type: "string" } })
  }
  const said = [summary, description].find((text) => typeof text === "string" && text !== "")
  return {
    id,
    method,
    path,
    summary: typeof said === "string" ? said.slice(0, MAX_SUMMARY_LENGTH) : "",
    parameters: [...byName.values()],
    body,
    unchecked: [],
    asTool: asTools.includes(id),
  }
}

/** Headers and cookies are the host's to set. */
function parameterOf(parameter: Json): readonly OperationParameter[] {
  if (!isJsonObject(parameter)) return []
  const { name, in: place, required, description, schema } = parameter
  if (typeof name !== "string" || (place !== "path" && place !== "query")) return []
  const text = typeof description === "string" ? { description: description.slice(0, MAX_SUMMARY_LENGTH) } : {}
  const isRequired = required === true || place === "path"
  return [{ name, in: place, required: isRequired, ...text, schema: isJsonObject(schema) ? schema : {} }]
}

function bodyOf(body: Json): Operation["body"] {
  if (!isJsonObject(body) || !isJsonObject(body.content)) return undefined
  const json = Object.entries(body.content).find(([type]) =>
    /^(?:application\/(?:[\w.-]+\+)?json|\*\/\*)/i.test(type),
  )?.[1]
  const schema = isJsonObject(json) && isJsonObject(json.schema) ? json.schema : {}
  return { required: body.required === true, schema }
}

function serverOf({ servers }: JsonObject): string {
  const [first] = Array.isArray(servers) ? servers : []
  const url: unknown = isJsonObject(first) ? first.url : undefined
  if (typeof url === "string" && URL.canParse(url) && !/[{}]/.test(url)) return url
  throw new LonghaulError("config_invalid", "The OpenAPI document has no server with a complete address.", {
    fix: "Pass baseUrl.",
  })
}

function unknownOperation(name: string, id: string): LonghaulError {
  return new LonghaulError("config_invalid", `The service ${name} has no operation ${JSON.stringify(id)}.`, {
    fix: "Use the operationId of an included operation.",
  })
}

const MAX_SUMMARY_LENGTH = 400

const optionsShape: Shape<OpenApiOptions> = {
  ...settingsShape,
  name: required("text"),
  include: listOf(["text", having({ exec: required("function") })]),
  asTools: texts,
  baseUrl: "text",
}
