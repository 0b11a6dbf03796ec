// A small MCP server without any library, for stdio and HTTP: it does what a test tells it to.
import { appendFileSync, existsSync, writeFileSync } from "node:fs"

const text = (value) => ({ content: [{ type: "text", text: value }] })

/** `settings`: see the fields below; all are optional. */
export function answers(settings = {}) {
  const {
    ledger,
    tools = defaultTools,
    instructions,
    capabilities = { tools: {}, resources: {}, prompts: {} },
  } = settings
  return {
    /** Returns the result of a request, or undefined if it is never answered. `send` sends a notification. */
    async answer({ method, params }, send = () => {}) {
      switch (method) {
        case "initialize":
          return {
            protocolVersion: params.protocolVersion,
            capabilities,
            serverInfo: { name: "scene", version: "1" },
            ...(instructions && { instructions }),
          }
        case "ping":
          return {}
        case "tools/list":
          return { tools: typeof tools === "function" ? tools() : tools }
        case "resources/list":
          return { resources: [{ uri: "note://one", name: "one", mimeType: "text/plain" }] }
        case "resources/templates/list":
          return { resourceTemplates: [{ uriTemplate: "note://{name}", name: "any note" }] }
        case "resources/read":
          if (params.uri !== "note://one") throw { code: -32002, message: `There is no resource ${params.uri}.` }
          return { contents: [{ uri: params.uri, mimeType: "text/plain", text: "The first note." }] }
        case "prompts/list":
          return { prompts: [{ name: "greet", description: "greets", arguments: [{ name: "who", required: true }] }] }
        case "prompts/get":
          return { messages: [{ role: "user", content: { type: "text", text: `Greet ${params.arguments.who}.` } }] }
        case "tools/call":
          return call(params, ledger, send)
        default:
          throw { code: -32601, message: `${method} is not available.` }
      }
    },
  }
}

const defaultTools = [
  tool("echo", { text: { type: "string" } }, { readOnlyHint: true }),
  tool("pay", { usd: { type: "number" } }),
  tool("erase", {}, { destructiveHint: true }),
  tool("hang", {}),
  tool("crash", {}),
  tool("crash_once", {}),
  tool("garbage", {}),
  tool("progress", {}),
  tool("fail", {}),
  tool("picture", {}),
]

export function tool(name, properties, annotations, description = `does ${name}`) {
  return { name, description, inputSchema: { type: "object", properties }, ...(annotations && { annotations }) }
}

async function call({ name, arguments: args, _meta }, ledger, send) {
  if (ledger) appendFileSync(ledger, `${name} ${JSON.stringify(args ?? {})}\n`)
  switch (name) {
    case "echo":
      return text(String(args.text))
    case "pay":
      return text(`paid ${args.usd}`)
    case "hang":
      return undefined
    case "crash":
      process.exit(3)
      return
    case "crash_once":
      if (!existsSync(`${ledger}.crashed`)) {
        writeFileSync(`${ledger}.crashed`, "")
        process.exit(3)
      }
      return text("alive")
    case "garbage":
      process.stdout.write('this is no JSON\n{"half": \n\n[1,2\n')
      return text("after garbage")
    case "progress":
      for (let at = 1; at <= 3; at++) {
        send({
          method: "notifications/progress",
          params: { progressToken: _meta?.progressToken, progress: at, total: 3 },
        })
        await new Promise((resolve) => setTimeout(resolve, 150))
      }
      return text("finished")
    case "fail":
      return { ...text("It is closed on Sundays."), isError: true }
    case "picture":
      return { content: [{ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }] }
    default:
      return text(`${name} ran`)
  }
}
