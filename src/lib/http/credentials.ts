import type { Credentials } from "../../contract/provider.ts"
import { isCredential } from "../text/credential.ts"

/** The values in a request that a server could echo and that must stay secret. */
export function credentialsOf(url: string, headers: Readonly<Record<string, string>>): Credentials {
  const found: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (isCredential(name, value)) addHeader(found, name.toLowerCase(), value)
  }
  if (URL.canParse(url)) addUrl(found, new URL(url))
  return found
}

/** The address of a server, without what may be secret. */
export function publicAddress(url: string): string {
  if (!URL.canParse(url)) return ""
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/** Without the scheme: a server may quote the key alone. */
function addHeader(found: Record<string, string>, name: string, value: string): void {
  const [, scheme = "", rest = value] = /^([A-Za-z][\w-]{1,20})\s+(\S+)$/.exec(value) ?? []
  found[name] = rest
  if (scheme.toLowerCase() !== "basic") return
  const password = decoded(() => atob(rest))
    .split(":")
    .slice(1)
    .join(":")
  if (password !== "") found[`${name}/password`] = password
}

function addUrl(found: Record<string, string>, { username, password, searchParams }: URL): void {
  if (username) found["url/user"] = decoded(() => decodeURIComponent(username)) || username
  if (password) found["url/password"] = decoded(() => decodeURIComponent(password)) || password
  for (const [name, value] of searchParams) if (isCredential(name, value)) found[`url/${name}`] = value
}

function decoded(decode: () => string): string {
  try {
    return decode()
  } catch {
    return ""
  }
}
