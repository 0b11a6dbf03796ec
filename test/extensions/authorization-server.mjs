// A real authorization server (oidc-provider) on a loopback address, and a person who logs in at it.

import { createServer } from "node:http"
import { createRequire } from "node:module"

const require = createRequire(new URL("../../.extensions/package.json", import.meta.url))

export async function authorizationServer() {
  const { default: Provider } = await import(require.resolve("oidc-provider"))
  const server = createServer()
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const issuer = `http://127.0.0.1:${server.address().port}`
  const provider = new Provider(issuer, {
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "mcp files:write",
          accessTokenTTL: 3600,
          accessTokenFormat: "opaque",
        }),
      },
    },
    scopes: ["openid", "offline_access", "mcp", "files:write"],
    clientDefaults: { token_endpoint_auth_method: "none", application_type: "native" },
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    pkce: { required: () => true },
    cookies: { keys: ["key-of-the-test"] },
    responseTypes: ["code"],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  })
  const grants = []
  provider.on("grant.success", ({ oidc }) => grants.push(oidc.params.grant_type))
  const headersSeen = []
  server.on("request", ({ headers }) => headersSeen.push(headers))
  server.on("request", provider.callback())
  return {
    issuer,
    grants,
    headersSeen,
    /** True if the token is valid for the server at this address. */
    async isValid(token, audience) {
      const found = await provider.AccessToken.find(token)
      return found !== undefined && !found.isExpired && [found.aud].flat().includes(audience)
    },
    async scopesOf(token) {
      const found = await provider.AccessToken.find(token)
      return [...found.scopes]
    },
    /** Ends this access token, as if its time were over; its refresh token stays valid. */
    async expire(token) {
      await (await provider.AccessToken.find(token)).destroy()
    },
    /** Ends all logins: neither access nor refresh tokens are valid any more. */
    async revokeAll(token) {
      const found = await provider.AccessToken.find(token)
      await provider.AccessToken.revokeByGrantId(found.grantId)
      await provider.RefreshToken.revokeByGrantId(found.grantId)
      await (await provider.Grant.find(found.grantId))?.destroy()
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Logs in and agrees, as a person in a browser would. Returns the address that the browser is sent back to. */
export async function logIn(address, { agrees = true } = {}) {
  const cookies = new Map()
  let url = new URL(address)
  const own = url.origin
  let form
  for (let step = 0; step < 12; step++) {
    if (url.origin !== own) return url
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ") },
      ...(form && { method: "POST", body: new URLSearchParams(form) }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)
      cookies.set(name, value)
    }
    form = undefined
    const location = response.headers.get("location")
    if (location) {
      url = new URL(location, url)
      continue
    }
    const page = await response.text()
    if (!agrees) {
      url = new URL(/href="([^"]*abort[^"]*)"/.exec(page)[1], url)
    } else {
      url = new URL(/action="([^"]*)"/.exec(page)[1], url)
      form = page.includes('value="login"') ? { prompt: "login", login: "ada", password: "x" } : { prompt: "consent" }
    }
  }
  throw new Error("The login did not come to an end.")
}
