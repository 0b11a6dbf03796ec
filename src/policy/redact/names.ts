import { isCredential, isSecretName } from "../../lib/text/credential.ts"

/** The variables whose names say that they are secret, and passwords in addresses. Shorter values are ordinary words. */
export function secretsIn(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, value = ""] of Object.entries(variables)) {
    if (value.trim().length < MIN_LENGTH) continue
    if (isSecretName(name) && isCredential(name, value)) found[name] = value
    const password = /^[a-z][a-z0-9+.-]*:\/\/[^\s/@:]*:([^\s/@]+)@/i.exec(value)?.[1] ?? ""
    if (isCredential("password", password)) found[`${name}/password`] = password
  }
  return found
}

/** Masks `NAME=value` and `"name": "value"` in a text, if the name says that the value is secret. */
export function maskNamedIn(text: string): string {
  return text
    .replace(assignment, (whole, name: string, sign: string) => (isSecretName(name) ? `${name}${sign}${MASK}` : whole))
    .replace(field, (whole, name: string, sign: string) => (isSecretName(name) ? `"${name}"${sign}"${MASK}"` : whole))
}

export const MASK = "[masked]"
const MIN_LENGTH = 8
const assignment = /\b([A-Za-z][\w-]{0,63})(=)(?:"[^"\n]*"|'[^'\n]*'|[^\s"'&;]+)/g
const field = /"([\w-]{1,64})"(\s{0,8}:\s{0,8})"(?:[^"\\\n]|\\.)*"/g
