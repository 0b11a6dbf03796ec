import type { Json } from "../../contract/json.ts"
import { type Tool, ToolError } from "../../contract/tool.ts"
import { type ApiCalls, callApi, effectAmong, effectOfArgs, seenByPolicy } from "./call.ts"
import type { CheckedService } from "./service.ts"
import { apiUses } from "./uses.ts"

/** The tool ApiCall. */
export function apiCall(calls: ApiCalls): Tool {
  const services = [...calls.services.values()]
  const allowed = [...new Set(services.flatMap(({ allowedMethods }) => allowedMethods))]
  const tool: Tool = {
    name: "ApiCall",
    description: [
      "Calls one of these web services. Its credentials are added; never pass any yourself.",
      ...services.map(described),
    ].join("\n"),
    inputSchema: {
      type: "object",
      properties: {
        service: { type: "string", enum: services.map(({ name }) => name) },
        method: { type: "string", enum: allowed },
        path: { type: "string", minLength: 1, maxLength: 2048, description: "Starts with /; without a query." },
        query: { type: "object", description: "Names and values; a list repeats its name." },
        headers: { type: "object", additionalProperties: { type: "string" } },
        body: { description: "JSON, or a text for services that take their body raw." },
      },
      required: ["service", "method", "path"],
      additionalProperties: false,
    },
    uses: apiUses,
    effect: effectAmong(services),
    effectOf: (args) => effectOfArgs(calls.services, args),
    concurrent: false,
    risk: "medium",
    inner: (args) => seenByPolicy(calls.services, tool, args),
    run: (args, context) => callApi(calls, jsonArgs(args), context),
  }
  return tool
}

/** Arguments come validated by a JSON schema. */
export function jsonArgs(args: unknown): Json {
  if (typeof args !== "object") throw new ToolError("invalid_input", "The arguments are not an object.")
  return args as Json // Safe: read from JSON, and each member is checked where it is used.
}

function described({
  name,
  description,
  allowedMethods,
  allowedPaths,
  operations,
  bodyEncoding,
}: CheckedService): string {
  const paths = operations
    ? `${operations.length} operations, which ApiSearch finds`
    : allowedPaths
      ? `paths that match ${allowedPaths.map(({ source }) => source).join(" or ")}`
      : "any path"
  const raw = bodyEncoding === "raw" ? "; the body is a text" : ""
  return `- ${name}${description ? `: ${description}` : ""} (${allowedMethods.join(", ")}; ${paths}${raw})`
}
