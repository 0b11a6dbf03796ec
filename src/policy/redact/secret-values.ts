import { LonghaulError } from "../../contract/error.ts"
import { MIN_ENCODED_LENGTH } from "../../lib/text/secret-forms.ts"

/**
 * Throws `config_invalid` for a declared secret that cannot be masked without also masking ordinary text. Undefined: the
 * public address of a provider, which may be given with its key.
 */
export function checkSecret(name: string, value: unknown): string | undefined {
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
    throw new LonghaulError(
      "config_invalid",
      `secrets has the name ${JSON.stringify(name)}, which cannot be referenced.`,
      {
        fix: "Use letters, digits, `_`, `.` and `-`, at most 64.",
      },
    )
  }
  if (typeof value !== "string") {
    throw new LonghaulError("config_invalid", `The secret ${name} is not a string.`, {
      fix: "Pass it as a string, or as a function that returns one.",
    })
  }
  const trimmed = value.trim()
  if (trimmed.length < MIN_SECRET_LENGTH) {
    throw new LonghaulError("config_invalid", `The secret ${name} has fewer than ${MIN_SECRET_LENGTH} characters.`, {
      fix: "Use a longer secret, or pass the value outside `secrets`: so short a text cannot be masked.",
    })
  }
  if (isOrdinary(trimmed) && /_(BASE_URL|HOST)$/i.test(name)) return undefined
  if (isOrdinary(trimmed)) {
    throw new LonghaulError("config_invalid", `The value of the secret ${name} is ordinary text.`, {
      fix: "Pass it outside `secrets`: masking a port, a public address or a common word would change unrelated text.",
    })
  }
  return trimmed
}

/** A credential that was found, not declared: undefined if it cannot be masked. */
export function maskable(value: string): string | undefined {
  const trimmed = value.trim()
  if (trimmed.length < MIN_SECRET_LENGTH || isOrdinary(trimmed)) return undefined
  // Local servers take any word as a key.
  return trimmed.length < MIN_ENCODED_LENGTH && /^[A-Za-z]+$/.test(trimmed) ? undefined : trimmed
}

function isOrdinary(value: string): boolean {
  if (/^(?:true|false|null|none|undefined|localhost|\d{1,5}|(?:\d{1,3}\.){3}\d{1,3})(?::\d{1,5})?$/i.test(value))
    return true
  return isPublicUrl(value)
}

/** Without a user, a query, or a path that could be a token. */
function isPublicUrl(value: string): boolean {
  if (!/^(?:https?|wss?):\/\/\S*$/i.test(value) || !URL.canParse(value)) return false
  const { username, password, search, hash, pathname } = new URL(value)
  return (
    username + password + search + hash === "" && pathname.split("/").every(({ length }) => length < MAX_WORD_LENGTH)
  )
}

/** No shorter text is ever masked. */
export const MIN_SECRET_LENGTH = 4
const MAX_WORD_LENGTH = 16
