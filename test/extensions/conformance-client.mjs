// The client under test of @modelcontextprotocol/conformance: our connection, driven as each scenario needs it.
// Usage: MCP_CONFORMANCE_SCENARIO=<name> node conformance-client.mjs <url>
import { ServerConnection } from "../../build/extensions/mcp/connection.js"
import { serverRequests } from "../../build/extensions/mcp/server-requests.js"
import { defaultBrand } from "../../build/lib/brand.js"

const url = process.argv.at(-1)
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ""
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}")

const saved = new Map()
const tokens = {
  read: async (key) => saved.get(key),
  write: async (key, value) => void saved.set(key, value),
  delete: async (key) => void saved.delete(key),
}

/** A person who follows the login at once, as a browser would. */
function person() {
  let params
  return {
    redirectUrl: "http://localhost:3000/callback",
    async open(address) {
      const response = await fetch(address, { redirect: "manual" })
      params = new URL(response.headers.get("location") ?? "").searchParams
    },
    async returned(state) {
      if (params.get("state") !== state) throw new Error("The redirect belongs to another login.")
      return params
    },
  }
}

function serverOf() {
  if (scenario === "auth/client-credentials-jwt") {
    const { client_id: clientId, private_key_pem: privateKey, signing_algorithm: algorithm } = context
    return { url, auth: { grant: "client-credentials", clientId, privateKey, algorithm } }
  }
  if (scenario === "auth/client-credentials-basic") {
    const { client_id: clientId, client_secret: clientSecret } = context
    return { url, auth: { grant: "client-credentials", clientId, clientSecret } }
  }
  if (scenario === "auth/cross-app-access-complete-flow") return { url, auth: { provider: crossAppAccess() } }
  if (scenario === "auth/pre-registration") {
    return { url, auth: { clientId: context.client_id, clientSecret: context.client_secret } }
  }
  if (scenario === "auth/2025-03-26-oauth-metadata-backcompat") return { url, auth: { allowOtherIssuer: true } }
  return { url, auth: { clientMetadataUrl: "https://conformance-test.local/client-metadata.json" } }
}

const sdk = await import("@modelcontextprotocol/client")

function crossAppAccess() {
  const { client_id: clientId, client_secret: clientSecret, idp_client_id, idp_id_token, idp_token_endpoint } = context
  return new sdk.CrossAppAccessProvider({
    clientId,
    clientSecret,
    assertion: async ({ authorizationServerUrl, resourceUrl, scope }) => {
      const granted = await sdk.requestJwtAuthorizationGrant({
        tokenEndpoint: idp_token_endpoint,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken: idp_id_token,
        clientId: idp_client_id,
        scope,
      })
      return granted.jwtAuthGrant
    },
  })
}

const server = serverOf()
const signal = new AbortController().signal
const run = { runId: "conformance", cwd: "/", signal, env: {} }
const elicit = () => ({ action: "accept", content: {} })
const connection = new ServerConnection({
  name: "suite",
  server,
  host: { brand: defaultBrand, tokens },
  workspaceId: "default",
  runId: run.runId,
  cwd: run.cwd,
  signal,
  page: person(),
  serve: () => serverRequests(run, "suite", server, { elicit }),
})

/** Servers that a client must refuse: it fails, and that is the right end. */
const refused = ["auth/resource-mismatch", "auth/scope-retry-limit"]
const given = { add_numbers: { a: 5, b: 3 } }

async function drive() {
  for (const { name } of await connection.tools()) {
    await connection.callTool(name, given[name] ?? {}, { signal, progress() {} })
  }
}

const error = await drive().then(
  () => undefined,
  (reason) => reason,
)
await connection.close()
if (refused.includes(scenario) !== (error !== undefined)) {
  console.error(error ?? "The server was not refused.")
  process.exit(1)
}
