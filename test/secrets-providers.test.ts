import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createAnthropic } from "@ai-sdk/anthropic"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import type { RunEvent } from "../src/contract/event.ts"
import type { Model } from "../src/contract/provider.ts"
import { anthropic, createRuntime, fromAiSdk, fsStore, google, native, openai } from "../src/hosts/node/index.ts"
import { createSimulator } from "../src/testing/index.ts"
import { known, leaksIn, type Sentinel } from "./secrets/sentinels.ts"

/** A server that echoes what it should not. */
interface Given {
  readonly key: string
  readonly fetch: typeof fetch
  readonly headers?: Record<string, string>
  readonly baseUrl?: string
}

type Protocol = "anthropic" | "responses" | "chat" | "google"

const model = "claude-sonnet-4-6"
const setUps: readonly [string, Protocol, (given: Given) => Model][] = [
  ["anthropic", "anthropic", ({ key, ...given }) => anthropic({ model, apiKey: key, ...given })],
  ["anthropic with a bearer token", "anthropic", ({ key, ...given }) => anthropic({ model, authToken: key, ...given })],
  ["openai responses", "responses", ({ key, ...given }) => openai({ model, apiKey: key, api: "responses", ...given })],
  ["openai chat", "chat", ({ key, ...given }) => openai({ model, apiKey: key, api: "chat", ...given })],
  ["google", "google", ({ key, ...given }) => google({ model, apiKey: key, ...given })],
  [
    "fromAiSdk",
    "anthropic",
    ({ key, baseUrl, ...given }) =>
      fromAiSdk(createAnthropic({ apiKey: key, ...(baseUrl && { baseURL: baseUrl }), ...given })(model)),
  ],
]

const long = known("a key", 'sk-Recognisable/0123+4567="89x')
const short = known("a key of six characters", 'k7/"z1')

/** The places of a response that a server fills with text of its own. */
const echoes: readonly [string, (protocol: Protocol, echo: string) => (answer: Response) => Promise<Response>][] = [
  [
    "a refusal",
    (_, echo) => async () =>
      Response.json({ type: "error", error: { type: "x", message: `Bad key: ${echo}` } }, { status: 401 }),
  ],
  ["a refusal that is not JSON", (_, echo) => async () => new Response(`<p>${echo}</p>`, { status: 403 })],
  ["a refusal with a success status", (_, echo) => async () => Response.json({ error: { message: echo } })],
  [
    "an error in the middle of a stream",
    (protocol, echo) => async (answer) => edited(answer, (body) => `${firstEvent(body)}${errorEvents[protocol](echo)}`),
  ],
  ["a request id", (_, echo) => async (answer) => withRequestId(answer, echo)],
  [
    "the request id of a refusal",
    (_, echo) => async () => withRequestId(Response.json({ error: { message: "No." } }, { status: 400 }), echo),
  ],
  [
    "an unknown stop reason",
    (protocol, echo) => async (answer) => edited(answer, (body) => stopped[protocol](body, echo)),
  ],
  [
    "a model id",
    (_, echo) => async (answer) => edited(answer, (body) => body.replaceAll(`"${model}"`, JSON.stringify(echo))),
  ],
  [
    "an answer",
    (_, echo) => async (answer) => edited(answer, (body) => body.replaceAll("MARK", JSON.stringify(echo).slice(1, -1))),
  ],
]

const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
const errorEvents: Readonly<Record<Protocol, (message: string) => string>> = {
  anthropic: (message) => event("error", { type: "error", error: { type: "api_error", message } }),
  responses: (message) => event("error", { type: "error", code: "server_error", message }),
  chat: (message) => `data: ${JSON.stringify({ error: { code: 500, message } })}\n\n`,
  google: (message) => `data: ${JSON.stringify({ error: { code: 500, status: "INTERNAL", message } })}\n\n`,
}
const stopped: Readonly<Record<Protocol, (body: string, echo: string) => string>> = {
  anthropic: (body, echo) => body.replace('"stop_reason":"end_turn"', `"stop_reason":${JSON.stringify(echo)}`),
  responses: (body, echo) =>
    body
      .replaceAll("response.completed", "response.incomplete")
      .replace(
        /"status":"completed"(?=[^\n]*\n*$)/,
        `"status":"incomplete","incomplete_details":{"reason":${JSON.stringify(echo)}}`,
      ),
  chat: (body, echo) => body.replace('"finish_reason":"stop"', `"finish_reason":${JSON.stringify(echo)}`),
  google: (body, echo) => body.replace('"finishReason":"STOP"', `"finishReason":${JSON.stringify(echo)}`),
}

async function edited(answer: Response, edit: (body: string) => string): Promise<Response> {
  return new Response(edit(await answer.text()), { status: answer.status, headers: answer.headers })
}

function firstEvent(body: string): string {
  return /^.*?\r?\n\r?\n/s.exec(body)?.[0] ?? ""
}

/** Header values cannot contain everything. */
function withRequestId({ status, headers, body }: Response, echo: string): Response {
  const named = new Headers(headers)
  for (const name of ["request-id", "x-request-id", "x-goog-request-id"]) named.set(name, echo)
  return new Response(body, { status, headers: named })
}

/** Bodies that are not quoted in any error. */
function isUnread(name: string, place: string): boolean {
  return place === "a refusal that is not JSON" || (name === "fromAiSdk" && place === "a refusal with a success status")
}

let root = ""
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "longhaul-secrets-"))
  // Only what a model says of itself: no variable names its key.
  vi.stubEnv("ANTHROPIC_API_KEY", undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true, force: true })
})

/** Everything that a run with this server leaves behind. */
async function traces(
  create: (given: Given) => Model,
  given: Omit<Given, "fetch">,
  respond: (answer: Response) => Promise<Response>,
) {
  const simulator = createSimulator({ script: () => "It is MARK, I think." })
  const fetch: typeof globalThis.fetch = async (input, init) =>
    respond(await simulator.fetch(new Request(withoutUser(input), init)))
  const events: RunEvent[] = []
  const logs: unknown[] = []
  const log = (...logged: unknown[]) => logs.push(logged)
  const runtime = createRuntime({
    store: fsStore(root),
    env: {},
    model: create({ ...given, fetch }),
    backend: native({ retry: { attempts: 2, firstMs: 1, longestMs: 1 } }),
    logger: { debug: log, info: log, warn: log, error: log },
    tools: [],
  })
  const result = await runtime.run({ task: "Who?", onEvent: (each) => events.push(each) })
  await runtime.close()
  const files = readdirSync(root, { recursive: true }).map((name) => join(root, String(name)))
  const texts = files.filter((path) => statSync(path).isFile()).map((path) => readFileSync(path, "utf8"))
  return { result, all: [...texts, JSON.stringify([events, logs, result])].join("\n") }
}

function withoutUser(input: Parameters<typeof fetch>[0]): string {
  const url = new URL(input instanceof Request ? input.url : input)
  url.username = ""
  url.password = ""
  return url.href
}

describe.each(setUps)("%s", (name, protocol, create) => {
  test.each(echoes)(
    "a provider leaves no trace of its key, long or short, in any spelling, if the server echoes it in %s",
    async (place, echoing) => {
      for (const sentinel of [long, short]) {
        for (const sent of sentinel.sent) {
          const { result, all } = await traces(create, { key: sentinel.value }, echoing(protocol, sent))
          expect([sent, leaksIn(all, sentinel)]).toEqual([sent, []])
          expect(["done", "failed"]).toContain(result.status)
          // Otherwise the echo went unnoticed, and the test shows nothing.
          if (!isUnread(name, place)) expect([sent, all]).toEqual([sent, expect.stringContaining("{{secret:model/")])
        }
      }
    },
  )

  const others: readonly [string, Sentinel, (value: string) => Omit<Given, "fetch">][] = [
    [
      "a custom header",
      known("h", "custom-h3ad3r-k3y9x7q2"),
      (value) => ({ key: "key-1", headers: { "x-tenant": value } }),
    ],
    ["a cookie", known("c", "session=cookie-value-2"), (value) => ({ key: "key-1", headers: { cookie: value } })],
    [
      "the password of its address",
      known("p", "password/of-the address"),
      (value) => ({ key: "key-1", baseUrl: `http://me:${encodeURIComponent(value)}@model.example` }),
    ],
    [
      "the query of its address",
      known("q", "query-of-the-address"),
      (value) => ({ key: "key-1", baseUrl: `http://model.example/?token=${value}` }),
    ],
  ]
  test.each(others)("a provider leaves no trace of %s, which the server echoes", async (_, sentinel, given) => {
    for (const sent of sentinel.sent) {
      const refuse = async () =>
        Response.json({ type: "error", error: { type: "x", message: `Refused: ${sent}` } }, { status: 400 })
      const { all } = await traces(create, given(sentinel.value), refuse)
      expect(leaksIn(all, sentinel)).toEqual([])
      expect(all).toContain("{{secret:model/")
    }
  })
})
