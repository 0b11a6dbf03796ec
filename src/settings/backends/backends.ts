import type { Backend } from "../../contract/backend.ts"
import type { BackendEnv } from "../../contract/backend-env.ts"
import type { Probe } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import { delay } from "../../lib/abort.ts"
import { kindOf, shown } from "../../lib/known-keys.ts"

/** The backends that a host has by name. */
export interface BackendSource {
  readonly names: readonly string[]
  /** Undefined: it has none of this name. */
  create(name: string): Promise<Backend> | undefined
}

/** The backends that a runtime can use. Those of the host are created on first use. */
export class Backends {
  readonly #given: readonly Backend[]
  readonly #native: Backend
  readonly #host: BackendSource | undefined
  readonly #created = new Map<string, Promise<Backend>>()
  readonly #ofHost = new Set<Backend>()
  #usable: Promise<readonly Backend[]> | undefined

  constructor(given: readonly Backend[], native: () => Backend, host: BackendSource | undefined) {
    this.#given = given.map(checked)
    this.#native = native()
    this.#host = host
  }

  /** In order of preference: the given ones, the native one, those of the host. */
  get names(): readonly string[] {
    return [...new Set([...this.#given.map(({ name }) => name), this.#native.name, ...(this.#host?.names ?? [])])]
  }

  /** The one that runs without any program. */
  get native(): Backend {
    return this.#native
  }

  has(name: string): boolean {
    return this.names.includes(name)
  }

  /** By default the native one. Rejects with `config_invalid` for an unknown name. */
  async find(backend: Backend | string | undefined): Promise<Backend> {
    if (backend === undefined) return this.#native
    if (typeof backend !== "string") return checked(backend)
    const given = this.#given.find(({ name }) => name === backend)
    if (given) return given
    if (backend === this.#native.name) return this.#native
    const known = this.#created.get(backend) ?? this.#host?.create(backend)
    if (known === undefined) throw this.#unknown(backend)
    this.#created.set(backend, known)
    this.#ofHost.add(await known)
    return known
  }

  /** True if it is what the host has under its name, with the settings that the vendor's program finds there. */
  isOfHost(backend: Backend): boolean {
    return this.#ofHost.has(backend)
  }

  /** The backends that are installed and not logged out, in order of preference. Looked up once. */
  usable(env: BackendEnv): Promise<readonly Backend[]> {
    this.#usable ??= this.#probeAll(env)
    return this.#usable
  }

  async #probeAll(env: BackendEnv): Promise<readonly Backend[]> {
    const all = await Promise.all(this.names.map((name) => this.find(name)))
    const bounded = { ...env, deadlines: { ...env.deadlines, openMs: PROBE_MS, replyMs: PROBE_MS } }
    const probes = await Promise.all(all.map((backend) => probed(backend, bounded)))
    const isUsable = (probe: Probe | undefined) =>
      probe?.found === true && probe.failure === undefined && probe.login !== "no"
    return all.filter((_, index) => isUsable(probes[index]))
  }

  /** Throws `config_invalid` for a name that `find` would reject. */
  require(name: string): void {
    if (!this.has(name) && name !== "auto") throw this.#unknown(name)
  }

  #unknown(name: string): LonghaulError {
    return new LonghaulError("config_invalid", `There is no backend ${shown(name)}.`, {
      fix: `Use auto, one of ${this.names.join(", ")}, or pass a backend as a value.`,
    })
  }
}

/** Undefined: there was no answer in time, or it threw. Programs may hang. */
async function probed(backend: Backend, env: BackendEnv): Promise<Probe | undefined> {
  const answered = new AbortController()
  try {
    return await Promise.race([backend.probe(env), delay(PROBE_MS, answered.signal).then(() => undefined)])
  } catch {
    return undefined
  } finally {
    answered.abort()
  }
}

const PROBE_MS = 3000

/** Throws for a value that is not a backend, which JavaScript callers can pass without a compiler error. */
function checked(backend: Backend): Backend {
  if (typeof backend?.open === "function" && typeof backend.capabilities === "object") return backend
  throw new LonghaulError("config_invalid", `backend is ${kindOf(backend)}, which is not a backend.`, {
    fix: 'Pass a name such as "native" or "codex", or a value such as codex().',
  })
}
