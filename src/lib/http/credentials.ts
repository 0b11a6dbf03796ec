import type { Credentials } from "../../contract/provider.ts"

/** The values in a request that a server could echo and that must stay secret. */
export function credentialsOf(url: string, headers: Readonly<Record<string, string>>): Credentials {
  const found: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (!publicHeaders.test(name)) addHeader(found, name.toLowerCase(), value)
  }
  if (URL.canParse(url)) addUrl(found, new URL(url))
  return found
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
  for (const [name, value] of searchParams) if (!publicParameters.test(name)) found[`url/${name}`] = value
}

function decoded(decode: () => string): string {
  try {
    return decode()
  } catch {
    return ""
  }
}

/** Headers whose values are public: masking them would change ordinary text. */
const publicHeaders =
  /^(accept|accept-.*|content-.*|cache-control|user-agent|referer|http-referer|origin|x-title|anthropic-(version|beta)|openai-beta|x-stainless-.*)$/i
const publicParameters = /^(api-version|version|alt|model|region|location|project|format)$/i
