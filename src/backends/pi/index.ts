import type { Backend, OpenRequest } from "../../contract/backend.ts"
import type { BackendEnv } from "../../contract/backend-env.ts"
import type { Capabilities } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import { newNonce } from "../../lib/id.ts"
import { checkShape } from "../../lib/schema/shape.ts"
import { withOutputForm } from "../shared/output-form.ts"
import { piModel } from "./models.ts"
import { PiSession } from "./session.ts"
import type { PiModules } from "./shapes.ts"

export interface PiOptions {
  /** Returns the key of a provider; undefined: the one in the environment. */
  readonly resolvePiApiKey?: (provider: string) => string | undefined | Promise<string | undefined>
  /** Instead of the provider's own address. */
  readonly baseUrl?: string
  /** How Pi talks to OpenAI Codex models: `sse`, `websocket`, `websocket-cached` or `auto`. */
  readonly piCodexTransport?: string
  /** Loads Pi. Default: the installed packages. */
  readonly load?: () => Promise<PiModules>
}

/** Pi's agent loop, in this process. Its tools are the runtime's; its sessions exist only in the journal. */
export function pi(options: PiOptions = {}): Backend {
  checkShape<PiOptions>("pi", options, {
    resolvePiApiKey: "function",
    baseUrl: "text",
    piCodexTransport: "text",
    load: "function",
  })
  const load = options.load ?? loadPi
  return {
    name: "pi",
    capabilities,
    async probe() {
      try {
        await load()
        return { found: true, login: "unknown" }
      } catch (error) {
        return { found: false, login: "unknown", failure: missing(error).toJSON() }
      }
    },
    async open(request, env) {
      if (request.from.kind !== "history") throw new LonghaulError("session_lost", "Pi stores no sessions.")
      const modules = await load().catch((error: unknown) => {
        throw missing(error)
      })
      const model = piModel(modules, modelName(request), options.baseUrl)
      // Pi has no output schemas: the model gets the schema as text.
      const system = withOutputForm(request.system, request.outputSchema)
      const { piCodexTransport } = options
      return new PiSession({
        modules,
        model,
        request,
        ref: { backend: "pi", version: "0.87", id: newNonce(), cwd: request.cwd, resumable: false },
        system,
        ...(model.provider === "openai-codex" && piCodexTransport !== undefined && { transport: piCodexTransport }),
        transportOfHost: env.transport,
        apiKey: (provider) => apiKeyOf(provider, options, modules, env),
      })
    },
  }
}

/** Named by variables, so that bundlers do not look for packages that most programs do not have. */
async function loadPi(): Promise<PiModules> {
  const [agent, ai] = ["@earendil-works/pi-agent-core", "@earendil-works/pi-ai/compat"]
  return { agent: await import(agent), ai: await import(ai) }
}

async function apiKeyOf(
  provider: string,
  { resolvePiApiKey }: PiOptions,
  { ai }: PiModules,
  { variable }: BackendEnv,
): Promise<string | undefined> {
  const given = await resolvePiApiKey?.(provider)
  const name = `${provider.replaceAll("-", "_").toUpperCase()}_API_KEY`
  return given ?? variable?.(name) ?? ai.getEnvApiKey?.(provider)
}

function modelName({ model }: OpenRequest): string {
  if (typeof model === "string") return model
  if (model) return `${model.provider}:${model.id}`
  throw new LonghaulError("config_invalid", "Pi needs a model.", { fix: 'Pass one, such as model: "openai:gpt-5.5".' })
}

function missing(cause: unknown): LonghaulError {
  if (LonghaulError.is(cause)) return cause
  return new LonghaulError("backend_missing", "Pi is not installed.", {
    fix: "Install it: npm install @earendil-works/pi-ai@0.87 @earendil-works/pi-agent-core@0.87",
    cause,
  })
}

const capabilities: Capabilities = {
  provider: "any",
  features: ["streaming", "tools", "parallel_tools", "vision", "interrupt"],
  models: "own",
  history: "messages",
  resume: "history",
  suspend: { ours: "settle", own: "settle" },
  steer: "turn",
  structured: "text",
  metering: "call",
  tells: ["subagents", "compaction"],
  reportsCost: true,
  ownTools: [],
  enforcement: [{ tools: "*", gate: "ours", rewrite: true, failsClosed: true, exactArguments: true, ledger: "intent" }],
  edge: false,
  contextTokens: 128_000,
  outputTokens: 8192,
  usdPer1k: { input: 0.01, output: 0.03 },
  latencyMs: 1000,
  coldStartMs: 300,
}
