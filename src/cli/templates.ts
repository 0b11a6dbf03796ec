import { defaultModelName, namedProviders } from "../hosts/node/model-names.ts"

/** What `init` writes: every key with its default; those that have none are left out by a comment. */
export function configTemplate(): string {
  return `{
  // Settings of longhaul for this folder and those below it. An option of the command line goes before the environment
  // (LONGHAUL_MODEL, LONGHAUL_MAX_TURNS, LONGHAUL_STORE), and that before this file. Keys and other secrets never go here.

  // Who answers, as provider:model, or "offline": rules, not an LLM. Default: chosen by the key in the environment.
  // "model": "${exampleModel()}",

  // The folder that the tools work in, from here; it cannot lead out of this folder.
  "workspace": ".",

  // Where runs are kept, from here. Outside of the state folder, this counts only where --config names the file.
  // "store": "~/.local/state/longhaul",

  // Instructions that stand above every task. Default: none.
  // "system": "Answer briefly.",

  // How hard the model thinks: minimal, low, medium, high or max. Default: the provider's.
  // "effort": "medium",

  // How freely it chooses words, 0 to 2; many models take only their default. Default: the provider's.
  // "temperature": 1,

  // The longest single answer, in tokens. Default: the provider's.
  // "maxOutputTokens": 8192,

  // Where a run stops by itself, so that one that goes astray ends.
  "limits": {
    // Model calls.
    "turns": 100,
    // All tokens together. Default: no limit.
    // "tokens": 1000000,
    // Dollars. Default: no limit.
    // "usd": 5,
    // Milliseconds from its start. Default: no limit.
    // "timeMs": 3600000,
  },

  // The only tools that are offered. Default: all.
  // "allowedTools": ["Read", "List", "Grep"],

  // Tools that are not offered.
  "disabledTools": [],

  // Where limits.usd is set and a price is not known: "refuse" the run, or "warn" and go on without that limit.
  "unknownPrice": "refuse",
}
`
}

/** A program over the library, with a tool of its own. */
export function exampleTemplate(): string {
  return `// A run with a tool of your own. Start it with: node longhaul-example.mjs
import { createRuntime, defineTool } from "longhaul/node"

const berths = new Map([
  ["north", "the cutter Halcyon"],
  ["south", "the tug Badger"],
  ["east", "nobody"],
])

// An LLM calls tools of any name. The offline model knows but a few names, and List is one of them.
const list = defineTool({
  name: "List",
  description: "Lists the berths of the harbour and who lies there.",
  input: { type: "object", properties: { path: { type: "string", description: "Not needed." } } },
  effect: "none", // changes nothing, so it may start early and run again
  run: () => [...berths].map(([berth, ship]) => \`\${berth}: \${ship}\`).join("\\n"),
})

// With one of these in the environment the model is an LLM; without, it is offline: rules, not an LLM.
const names = ${JSON.stringify(modelVariables()).replaceAll(",", ", ")}
const hasModel = names.some((name) => process.env[name])

const runtime = createRuntime({ ...(!hasModel && { model: "offline" }), tools: [list], limits: { turns: 10 } })
const result = await runtime.run({ task: "List the berths and say which is free." })

console.log(result.status, "on", result.model, "after", result.turns, "turns")
console.log(result.text)
if (result.error) console.error(result.error.message, result.error.fix ?? "")
console.log("Every step is on record: npx longhaul show", result.runId)
await runtime.close()
`
}

function exampleModel(): string {
  return defaultModelName({ ANTHROPIC_API_KEY: "set" }) ?? "offline"
}

/** Any of them is enough for the library to choose a model. */
function modelVariables(): readonly string[] {
  const keys = namedProviders.flatMap(({ defaultModel, keyNames }) => (defaultModel === undefined ? [] : keyNames))
  return ["LONGHAUL_MODEL", ...keys]
}
