import { defaultModelName, namedProviders } from "../hosts/node/model-names.ts"

/** The config file that `init` writes: every key with its default; keys without a default are commented out. */
export function configTemplate(): string {
  return `{
  // Longhaul settings for this folder and its subfolders. Command line options take precedence over the environment
  // (LONGHAUL_MODEL, LONGHAUL_MAX_TURNS, LONGHAUL_STORE), which takes precedence over this file. Never put secrets here.

  // The model, as provider:model, or "offline": rules, not an LLM. Default: chosen by the key in the environment.
  // "model": "${exampleModel()}",

  // The folder that the tools work in, relative to this one; it cannot be outside of it.
  "workspace": ".",

  // Where runs are stored, relative to this folder. Outside the state folder, this applies only if --config names the file.
  // "store": "~/.local/state/longhaul",

  // System prompt. Default: none.
  // "system": "Answer briefly.",

  // Reasoning effort: minimal, low, medium, high or max. Default: the provider's.
  // "effort": "medium",

  // Sampling temperature, 0 to 2; many models accept only their default. Default: the provider's.
  // "temperature": 1,

  // Maximum length of one answer in tokens. Default: the provider's.
  // "maxOutputTokens": 8192,

  // Limits at which a run stops.
  "limits": {
    // Model calls.
    "turns": 100,
    // Total tokens. Default: no limit.
    // "tokens": 1000000,
    // Dollars. Default: no limit.
    // "usd": 5,
    // Milliseconds from its start. Default: no limit.
    // "timeMs": 3600000,
  },

  // Offer only these tools. Default: all.
  // "allowedTools": ["Read", "List", "Grep"],

  // Do not offer these tools.
  "disabledTools": [],

  // If limits.usd is set and a price is unknown: "refuse" the run, or "warn" and continue without that limit.
  "unknownPrice": "refuse",

  // Offer the skills of the workspace and of your home. True applies only if --config names the file.
  "skills": false,

  // Memory of the workspace: "off", "read-only" or "read-write". Values other than "off" apply only if --config names the file.
  "memory": "off",

  // Give the AGENTS.md files of the workspace to the model.
  "agentsMd": true,
}
`
}

/** A program that uses the library with a tool of its own. */
export function exampleTemplate(): string {
  return `// A run with a tool of your own. Start it with: node longhaul-example.mjs
import { createRuntime, defineTool } from "longhaul/node"

const berths = new Map([
  ["north", "the cutter Halcyon"],
  ["south", "the tug Badger"],
  ["east", "free"],
])

// An LLM calls tools of any name. The offline model knows only a few names, including List.
const list = defineTool({
  name: "List",
  description: "List the berths of the harbour and the ship at each.",
  inputSchema: { type: "object", properties: { path: { type: "string", description: "Not needed." } } },
  effect: "none", // changes nothing, so it may start early and be repeated
  run: () => [...berths].map(([berth, ship]) => \`\${berth}: \${ship}\`).join("\\n"),
})

// With one of these in the environment the model is an LLM; otherwise it is the offline model: rules, not an LLM.
const names = ${JSON.stringify(modelVariables()).replaceAll(",", ", ")}
const hasModel = names.some((name) => process.env[name])

const runtime = createRuntime({ ...(!hasModel && { model: "offline" }), tools: [list], limits: { turns: 10 } })
const result = await runtime.run({ task: "List the berths and say which is free." })

console.log(result.status, "on", result.model, "after", result.turns, "turns")
console.log(result.text)
if (result.error) console.error(result.error.message, result.error.fix ?? "")
console.log("Every step is recorded: npx longhaul show", result.runId)
await runtime.close()
`
}

function exampleModel(): string {
  return defaultModelName({ ANTHROPIC_API_KEY: "set" }) ?? "offline"
}

/** Any of these variables is enough for the library to choose a model. */
function modelVariables(): readonly string[] {
  const keys = namedProviders.flatMap(({ defaultModel, keyNames }) => (defaultModel === undefined ? [] : keyNames))
  return ["LONGHAUL_MODEL", ...keys]
}
