import type { Failure } from "../contract/error.ts"
import type { Extension } from "../contract/extension.ts"
import type { Json } from "../contract/json.ts"
import type { McpServers } from "../contract/mcp.ts"
import type { Model } from "../contract/provider.ts"
import type { Logger, RuntimeConfig } from "../contract/run.ts"
import type { Store } from "../contract/store.ts"
import { serverCredentials } from "../lib/mcp-servers.ts"
import { createRedactor, type Redactor } from "../policy/redact/redactor.ts"

/** Returns the redactor for runs with these models, MCP servers and extensions: it knows their secrets, and the runtime's. */
export type RedactorOf = (
  targets?: readonly { readonly model?: Model }[],
  servers?: McpServers,
  extensions?: readonly Extension[],
) => Redactor

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
): RedactorOf {
  const own: Record<string, string> = { ...found, ...prefixed("store", store.credentials?.() ?? {}) }
  for (const [index, value] of [webhook?.secret ?? []].flat().entries()) own[`webhook/secret${index + 1}`] = value
  Object.assign(own, prefixed("webhook", webhook?.headers ?? {}))
  const isFixed = Object.values(secrets).every((secret) => typeof secret === "string")
  let declared = valuesOf(secrets)
  let byModel = new WeakMap<object, Redactor>()

  function refresh(): void {
    const now = valuesOf(secrets)
    const changed = Object.keys(declared).filter((name) => declared[name] !== now[name])
    if (changed.length === 0 && Object.keys(now).length === Object.keys(declared).length) return
    for (const name of changed) own[`former/${name}`] = declared[name] ?? ""
    declared = now
    byModel = new WeakMap()
  }

  const redactorOf: RedactorOf = (targets = [], servers = {}, extensions = []) => {
    if (!isFixed) refresh()
    const [model = ownModel, ...others] = targets.flatMap((target) => target.model ?? [])
    const isPlain = others.length === 0 && Object.keys(servers).length === 0 && extensions.length === 0
    const known = isPlain ? byModel.get(model ?? none) : undefined
    if (known) return known
    const credentials = [model, ...others].map((each) => prefixed("model", credentialsOf(each)))
    const drawn = extensions.map((extension) => prefixed(extension.name, credentialsOf(extension)))
    const redactor = createRedactor(
      declared,
      Object.assign({}, own, ...credentials, ...drawn, prefixed("mcp", serverCredentials(servers))),
    )
    if (isPlain) byModel.set(model ?? none, redactor)
    return redactor
  }
  // Declared secrets that cannot be masked are reported when the runtime is created, not by its first run.
  redactorOf()
  return redactorOf
}

/** Redacts before it shortens: the start of a secret would no longer be recognised. */
export function redactFailure(redactor: Redactor, failure: Failure): Failure {
  const clean = redactor.cut(failure.message)
  const message = clean.length > LONGEST_MESSAGE ? `${clean.slice(0, LONGEST_MESSAGE)}…` : clean
  const { fix, requestId, data } = failure
  return {
    ...failure,
    message,
    ...(fix !== undefined && { fix: redactor.text(fix) }),
    ...(requestId !== undefined && { requestId: redactor.text(requestId) }),
    ...(data !== undefined && { data: redactor.json(data) }),
  }
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

/** Arguments with undeclared tokens. Only this process has them: the journal holds a mask that cannot be expanded. */
export class UndeclaredTokens {
  readonly #args = new Map<string, Json>()

  keep(call: string, redacted: Json, args: Json): void {
    this.#args.set(keyOf(call, redacted), args)
    const [oldest] = this.#args.keys()
    if (this.#args.size > MOST_KEPT && oldest !== undefined) this.#args.delete(oldest)
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

function prefixed(source: string, values: Named): Named {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${source}/${name}`, value]))
}

const none = {}
const MOST_KEPT = 1000
const LONGEST_MESSAGE = 600
