import type { Failure } from "../../contract/error.ts"
import type { Extension } from "../../contract/extension.ts"
import type { Json } from "../../contract/json.ts"
import type { McpServers } from "../../contract/mcp.ts"
import type { Model } from "../../contract/provider.ts"
import type { Logger, RuntimeConfig } from "../../contract/run.ts"
import type { Store } from "../../contract/store.ts"
import type { ToolSpec } from "../../contract/tool.ts"
import type { Webhook } from "../../contract/webhook.ts"
import { credentialsOf as requestCredentials } from "../../lib/http/credentials.ts"
import { serverCredentials } from "../../lib/mcp-servers.ts"
import { createRedactor, type Redactor } from "../../policy/redact/redactor.ts"

/**
 * Returns the redactor for runs with these models, MCP servers and extensions: it knows their secrets, and the runtime's. `run`:
 * it knows the secrets of this run's own webhook, too.
 */
export type RedactorOf = (
  targets?: readonly { readonly model?: Model }[],
  drawn?: DrawnOn,
  run?: { readonly runId: string },
) => Redactor

/** The extensions that a run uses. */
interface DrawnOn {
  readonly mcpServers?: McpServers
  readonly extensions?: { readonly all: readonly Extension[] }
}

/** The values with which a runtime masks secrets. */
export interface Redaction {
  readonly redactorOf: RedactorOf
  readonly runSecrets: RunSecrets
  readonly undeclared: UndeclaredTokens
}

type Named = Readonly<Record<string, string>>

/**
 * Throws `config_invalid` for a declared secret that cannot be masked. `found`: secrets of the host. A secret that is a function
 * is called at each use; a value that it returned before stays masked.
 */
export function redactorSource(
  { secrets = {}, webhook }: Pick<RuntimeConfig, "secrets" | "webhook">,
  store: Store,
  found: Named,
  ownModel: Model | undefined,
  runs = new RunSecrets(),
): RedactorOf {
  const own: Record<string, string> = {
    ...found,
    ...prefixed("store", store.credentials?.() ?? {}),
    ...(webhook && webhookSecrets(webhook)),
  }
  const isFixed = Object.values(secrets).every((secret) => typeof secret === "string")
  let declared = valuesOf(secrets)
  let byModel = new WeakMap<object, Redactor>()
  let byRun = new WeakMap<Named, WeakMap<object, Redactor>>()

  function refresh(): void {
    const now = valuesOf(secrets)
    const changed = Object.keys(declared).filter((name) => declared[name] !== now[name])
    if (changed.length === 0 && Object.keys(now).length === Object.keys(declared).length) return
    for (const name of changed) own[`former/${name}`] = declared[name] ?? ""
    declared = now
    byModel = new WeakMap()
    byRun = new WeakMap()
  }

  function redactorsOf(ofRun: Named): WeakMap<object, Redactor> {
    const known = byRun.get(ofRun) ?? new WeakMap<object, Redactor>()
    byRun.set(ofRun, known)
    return known
  }

  const redactorOf: RedactorOf = (targets = [], { mcpServers = {}, extensions: { all } = { all: [] } } = {}, run) => {
    if (!isFixed) refresh()
    const ofRun = run && runs.of(run.runId)
    const built = ofRun ? redactorsOf(ofRun) : byModel
    const [model = ownModel, ...others] = targets.flatMap((target) => target.model ?? [])
    const isPlain = others.length === 0 && Object.keys(mcpServers).length === 0 && all.length === 0
    const known = isPlain ? built.get(model ?? none) : undefined
    if (known) return known
    const credentials = [model, ...others].map((each) => prefixed("model", credentialsOf(each)))
    const drawn = all.map((extension) => prefixed(extension.name, credentialsOf(extension)))
    const servers = prefixed("mcp", serverCredentials(mcpServers))
    const redactor = createRedactor(declared, Object.assign({}, own, ofRun, ...credentials, ...drawn, servers))
    if (isPlain) built.set(model ?? none, redactor)
    return redactor
  }
  // Declared secrets that cannot be masked are reported when the runtime is created, not by its first run.
  redactorOf()
  return redactorOf
}

export function redactionOf(...[config, store, found, ownModel]: Parameters<typeof redactorSource>): Redaction {
  const runSecrets = new RunSecrets()
  const redactorOf = redactorSource(config, store, found, ownModel, runSecrets)
  return { redactorOf, runSecrets, undeclared: new UndeclaredTokens() }
}

/** Redacts before it shortens: the start of a secret would no longer be recognised. */
export function redactFailure(redactor: Redactor, failure: Failure): Failure {
  const clean = redactor.cut(failure.message)
  const message = clean.length > MAX_MESSAGE_LENGTH ? `${clean.slice(0, MAX_MESSAGE_LENGTH)}…` : clean
  const { fix, requestId, data } = failure
  return {
    ...failure,
    message,
    ...(fix !== undefined && { fix: redactor.text(fix) }),
    ...(requestId !== undefined && { requestId: redactor.text(requestId) }),
    ...(data !== undefined && { data: redactor.json(data) }),
  }
}

/** Tools as a model may see them. Their names stay: a call must find its tool. Masked once for each redactor and set of tools. */
export function redactedTools(redactor: Redactor, specs: readonly ToolSpec[]): readonly ToolSpec[] {
  const known = maskedTools.get(redactor) ?? new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>()
  maskedTools.set(redactor, known)
  const masked = known.get(specs) ?? masksOf(redactor, specs)
  known.set(specs, masked)
  return masked
}

const maskedTools = new WeakMap<Redactor, WeakMap<readonly ToolSpec[], readonly ToolSpec[]>>()

/** The same objects as far as they contain no secret. */
function masksOf(redactor: Redactor, specs: readonly ToolSpec[]): readonly ToolSpec[] {
  const masked = specs.map((spec) => {
    const description = redactor.text(spec.description)
    const inputSchema = redactor.json(spec.inputSchema)
    const isSame = description === spec.description && inputSchema === spec.inputSchema
    return isSame ? spec : Object.freeze({ ...spec, description, inputSchema })
  })
  return masked.some((spec, index) => spec !== specs[index]) ? Object.freeze(masked) : specs
}

/** A logger that gets neither secrets nor values with secret names. */
export function redactedLogger(logger: Logger, redactorOf: RedactorOf): Logger {
  const through = (log: NonNullable<Logger["debug"]>): NonNullable<Logger["debug"]> => {
    return (message, data) => {
      const redactor = redactorOf()
      log(redactor.shown(message), data && redactor.shown(data))
    }
  }
  return {
    ...(logger.debug && { debug: through((message, data) => logger.debug?.(message, data)) }),
    info: through((message, data) => logger.info?.(message, data)),
    warn: through((message, data) => logger.warn(message, data)),
    error: through((message, data) => logger.error?.(message, data)),
  }
}

/** Secrets in webhooks that single runs were given, for all exchanges of a run. Only this process has them. */
export class RunSecrets {
  readonly #byRun = new Map<string, Named>()

  keep(runId: string, webhook: Webhook): void {
    const added = webhookSecrets(webhook)
    if (Object.keys(added).length === 0) return
    const known = this.#byRun.get(runId) ?? {}
    const former = Object.entries(known).filter(([name, value]) => added[name] !== value)
    // A run that gets another webhook may still mention the one that it had.
    const renamed = former.map(([name, value]) => [Object.hasOwn(added, name) ? `former/${name}` : name, value])
    this.#byRun.delete(runId)
    this.#byRun.set(runId, { ...Object.fromEntries(renamed), ...added })
    const [oldest] = this.#byRun.keys()
    if (this.#byRun.size > MAX_RUNS && oldest !== undefined) this.#byRun.delete(oldest)
  }

  of(runId: string): Named | undefined {
    return this.#byRun.get(runId)
  }
}

/** Arguments with undeclared tokens. Only this process has them: the journal holds a mask that cannot be expanded. */
export class UndeclaredTokens {
  readonly #args = new Map<string, Json>()

  keep(call: string, redacted: Json, args: Json): void {
    this.#args.set(keyOf(call, redacted), args)
    const [oldest] = this.#args.keys()
    if (this.#args.size > MAX_KEPT && oldest !== undefined) this.#args.delete(oldest)
  }

  /** Only for exactly these arguments of exactly this call. */
  find(call: string, redacted: Json): Json | undefined {
    return this.#args.get(keyOf(call, redacted))
  }
}

function keyOf(call: string, redacted: Json): string {
  return `${call} ${JSON.stringify(redacted)}`
}

/** Skips a secret whose function throws: without a value, it cannot appear in any output. */
function valuesOf(secrets: NonNullable<RuntimeConfig["secrets"]>): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [name, secret] of Object.entries(secrets)) {
    try {
      values[name] = typeof secret === "function" ? secret() : secret
    } catch {}
  }
  return values
}

/** A model or an extension of a third party may fail here as anywhere. */
function credentialsOf(source: Pick<Model | Extension, "credentials"> | undefined): Named {
  try {
    return source?.credentials?.() ?? {}
  } catch {
    return {}
  }
}

/** The secrets that a webhook contains itself. Those that it names in `secrets` are known anyway. */
function webhookSecrets({ url, secret = [], headers = {} }: Webhook): Named {
  const secrets = [secret].flat().map((value, index) => [`webhook/secret${index + 1}`, value])
  return { ...prefixed("webhook", requestCredentials(url, headers)), ...Object.fromEntries(secrets) }
}

function prefixed(source: string, values: Named): Named {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${source}/${name}`, value]))
}

const none = {}
const MAX_KEPT = 1000
const MAX_RUNS = 10_000
const MAX_MESSAGE_LENGTH = 600
