import http from "node:http"
import https from "node:https"
import { isIP } from "node:net"
import { type NamedProvider, namedProviders, type Variables } from "../../hosts/node/model-names.ts"
import { isJsonObject } from "../../lib/json.ts"
import { clip } from "../format.ts"

/** A model server on this machine and its response. */
export interface LocalServer {
  readonly name: string
  /** Host and port only; null: the configured address is invalid. */
  readonly host: string | null
  /** `other`: a different server responds there. `remote`: not on this machine, so not contacted. */
  readonly status: "up" | "down" | "other" | "remote"
  readonly models: readonly string[]
}

/** Asks each for its models, all at once; a server that takes longer than `deadlineMs` is down. */
export function probeServers(variables: Variables, deadlineMs = 500): Promise<readonly LocalServer[]> {
  const local = namedProviders.filter(({ localUrl }) => localUrl !== undefined)
  return Promise.all(local.map((provider) => probe(provider, variables, deadlineMs)))
}

/** The part of an address that may be shown: never its user, password, path or query. Null: invalid address. */
export function hostOf(address: string): string | null {
  return /^https?:\/\//.test(address) && URL.canParse(address) ? new URL(address).host : null
}

async function probe(provider: NamedProvider, variables: Variables, deadlineMs: number): Promise<LocalServer> {
  const { name, baseUrlName, localUrl = "" } = provider
  const base = ((baseUrlName && variables[baseUrlName]) || localUrl).replace(/\/+$/, "")
  const known = { name, host: hostOf(base) }
  if (known.host === null) return { ...known, status: "down", models: [] }
  const url = new URL(name === "ollama" ? `${base.replace(/\/v1$/, "")}/api/tags` : `${base}/models`)
  if (!isLoopback(url.hostname)) return { ...known, status: "remote", models: [] }
  const answer = await ask(url, deadlineMs)
  if (answer === null) return { ...known, status: "down", models: [] }
  const models = modelsIn(answer)
  return models === null ? { ...known, status: "other", models: [] } : { ...known, status: "up", models }
}

/** The response, with any status; null: none in time. Sends no credentials. */
function ask(url: URL, deadlineMs: number): Promise<string | null> {
  const { hostname, port, pathname } = url
  const { get } = url.protocol === "https:" ? https : http
  return new Promise((resolve) => {
    const options = { hostname: hostname.replace(/^\[|\]$/g, ""), port, path: pathname, agent: false }
    const request = get({ ...options, signal: AbortSignal.timeout(deadlineMs) }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk
        if (text.length > longestAnswer) request.destroy()
      })
      response.on("error", () => {})
      response.on("close", () => resolve(response.complete ? text : null))
    })
    request.on("error", () => resolve(null))
  })
}

const longestAnswer = 1_000_000

/** Ollama has `models[].name`, all others `data[].id`. Null: neither. */
function modelsIn(answer: string): readonly string[] | null {
  let body: unknown
  try {
    body = JSON.parse(answer)
  } catch {
    return null
  }
  const list = isJsonObject(body) ? (body.models ?? body.data) : undefined
  if (!Array.isArray(list)) return null
  const names = list.map((each: unknown) => (isJsonObject(each) ? (each.name ?? each.id) : undefined))
  return names.filter((name) => typeof name === "string").map((name) => clip(name, 80))
}

function isLoopback(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, "")
  return address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."))
}
