import { LonghaulError } from "../../../contract/error.ts"
import { newNonce } from "../../../lib/id.ts"
import { sha256 } from "../../../lib/sha256.ts"

/** Who may ask: API keys by the name of their user, and secrets by client id. */
export interface PolicyServiceKeys {
  readonly apiKeys?: Readonly<Record<string, string>>
  readonly clients?: Readonly<Record<string, string>>
}

interface Issued {
  readonly subject: string
  readonly until: number
}

/** Identifies callers. Keys are compared by their digests, so that the time reveals nothing about them. */
export class Callers {
  readonly #keys: readonly { readonly digest: string; readonly subject: string }[]
  readonly #clients: ReadonlyMap<string, string>
  readonly #tokens = new Map<string, Issued>()

  constructor({ apiKeys = {}, clients = {} }: PolicyServiceKeys) {
    for (const [name, value] of [...Object.entries(apiKeys), ...Object.entries(clients)]) {
      // A variable that is not set would let everyone in.
      if (value === "") throw emptyKey(name)
    }
    this.#keys = Object.entries(apiKeys).map(([subject, key]) => ({ digest: sha256(key), subject }))
    this.#clients = new Map(Object.entries(clients).map(([id, secret]) => [id, sha256(secret)]))
  }

  /** The name of the caller; undefined: unknown. */
  subjectOf(authorization: string | null): string | undefined {
    const [, given] = /^Bearer ([!-~]{1,4096})$/i.exec(authorization ?? "") ?? []
    if (given === undefined) return undefined
    const digest = sha256(given)
    const key = this.#keys.filter((each) => isEqual(each.digest, digest))[0]
    if (key) return key.subject
    const issued = this.#tokens.get(digest)
    return issued && performance.now() < issued.until ? issued.subject : undefined
  }

  /** A token for a client and, if it names one, the user on whose behalf it acts. Undefined: the credentials are wrong. */
  exchange(form: URLSearchParams): { readonly token: string; readonly seconds: number } | undefined {
    const id = form.get("client_id") ?? ""
    const secret = sha256(form.get("client_secret") ?? "")
    const isKnown = isEqual(this.#clients.get(id) ?? sha256(newNonce()), secret)
    if (form.get("grant_type") !== "client_credentials" || !isKnown) return undefined
    const user = form.get("subject_token")
    const token = `${newNonce()}${newNonce()}`
    this.#forgetExpired()
    this.#tokens.set(sha256(token), {
      subject: user === null ? id : `${id} for ${user.slice(0, 200)}`,
      until: performance.now() + TOKEN_SECONDS * 1000,
    })
    return { token, seconds: TOKEN_SECONDS }
  }

  #forgetExpired(): void {
    const now = performance.now()
    for (const [digest, { until }] of this.#tokens) if (until <= now) this.#tokens.delete(digest)
    for (const digest of this.#tokens.keys()) {
      if (this.#tokens.size < MAX_TOKENS) return
      this.#tokens.delete(digest)
    }
  }
}

function emptyKey(name: string): LonghaulError {
  return new LonghaulError("config_invalid", `The key or secret of ${name} is empty.`, {
    fix: "Set it to a random text of 32 characters or more, or omit the entry.",
  })
}

/** In constant time for texts of equal length. */
function isEqual(left: string, right: string): boolean {
  let difference = left.length ^ right.length
  for (let at = 0; at < left.length; at++) difference |= left.charCodeAt(at) ^ right.charCodeAt(at)
  return difference === 0
}

const TOKEN_SECONDS = 3600
const MAX_TOKENS = 10_000
