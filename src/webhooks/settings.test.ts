import { describe, expect, test } from "vitest"
import type { RuntimeConfig } from "../contract/run.ts"
import { ToolError } from "../contract/tool.ts"
import type { Webhook } from "../contract/webhook.ts"
import { checkWebhook } from "./check.ts"
import { deliver, type Sending, type WebhookPost } from "./deliver.ts"
import { webhookSettings } from "./settings.ts"

const secrets = { KEY: "whsec_a2V5", NEXT: () => "whsec_bmV4dA==", TOKEN: "Bearer token" }
const { rules } = webhookSettings({ secrets, webhookAllow: ["localhost:9000"] })
const url = "https://example.com/hook?x=1"

describe("a webhook that can never be sent is rejected with a fix", () => {
  test.each<[string, Webhook | object]>([
    ["no address", { url: "example.com" }],
    ["an address of another kind", { url: "ftp://example.com/" }],
    ["a user in the address", { url: "https://user@example.com/" }],
    ["a password in the address", { url: "https://:secret@example.com/" }],
    ["this computer", { url: "http://127.0.0.1/" }],
    ["this computer in one number", { url: "http://2130706433/" }],
    ["this computer in octal", { url: "http://0177.0.0.1/" }],
    ["this computer by name", { url: "http://localhost./" }],
    ["another port than the allowed one", { url: "http://localhost:9001/" }],
    ["IPv4 in IPv6", { url: "http://[::ffff:10.0.0.1]/" }],
    ["the metadata of a cloud", { url: "http://169.254.169.254/latest" }],
    ["no event at all", { url, events: [] }],
    ["an event that there is not", { url, events: ["running"] }],
    ["a secret that is not there", { url, secretRef: "MISSING" }],
    ["a name that every object has", { url, secretRef: "constructor" }],
    ["a header whose secret is not there", { url, headerRefs: { authorization: "MISSING" } }],
    ["an empty secret", { url, secret: "" }],
    ["a secret that cannot be read", { url, secret: ["fine", "whsec_***"] }],
    ["a header with a space behind it", { url, headers: { "authorization ": "x" } }],
    ["a header of two lines", { url, headers: { "x-one": "a\r\nx-two: b" } }],
    ["the host", { url, headers: { Host: "internal" } }],
    ["how the body is sent", { url, headers: { "Transfer-Encoding": "chunked" } }],
    ["a misspelt key", { url, event: ["done"] }],
  ])("a webhook is rejected with a fix: %s", (_, webhook) => {
    expect(() => checkWebhook(webhook as Webhook, rules)).toThrow(
      expect.objectContaining({ code: "config_invalid", fix: expect.any(String) }),
    )
  })
})

test("the recorded webhook contains no secret value and says what is missing", { tags: ["WH-01"] }, () => {
  const webhook: Webhook = {
    url: `${url}#part`,
    secretRef: ["KEY", "NEXT"],
    secret: "sentinel-1",
    headers: { "x-token": "sentinel-2" },
    headerRefs: { authorization: "TOKEN" },
  }
  const { recorded } = checkWebhook(webhook, rules)
  expect(recorded).toEqual({
    url,
    events: ["paused", "done", "failed"],
    secretRef: ["KEY", "NEXT"],
    headerRefs: { authorization: "TOKEN" },
    inline: ["secret", "headers"],
  })
  expect(checkWebhook({ url: "http://LOCALHOST:9000/", events: ["done"] }, rules).recorded).toEqual({
    url: "http://localhost:9000/",
    events: ["done"],
  })
})

describe("secrets of a webhook", () => {
  const asked: Webhook = { url, secret: "mine", headers: { "x-a": "1" }, secretRef: ["KEY", "NEXT"] }
  const resolveWith = (config: RuntimeConfig, kept?: { secrets?: string[]; headers?: Record<string, string> }) =>
    webhookSettings(config).resolve(checkWebhook(asked, rules).recorded, kept)

  test("secrets are looked up at sending time", () => {
    const kept = { secrets: ["mine"], headers: { "x-a": "1" } }
    expect(resolveWith({ secrets }, kept)).toEqual({
      secrets: ["mine", "whsec_a2V5", "whsec_bmV4dA=="],
      headers: { "x-a": "1" },
    })
  })

  test("a webhook with in-memory values of another process is unavailable until it is passed again", () => {
    expect(resolveWith({ secrets })).toBeNull()
    expect(resolveWith({ secrets }, { secrets: ["mine"] })).toBeNull()
    expect(resolveWith({ secrets, webhook: { ...asked, url: "https://example.com/other" } })).toBeNull()
    expect(resolveWith({ secrets, webhook: asked })).toMatchObject({ headers: { "x-a": "1" } })
  })

  test("a webhook is unavailable if a secret cannot be found or used", () => {
    const kept = { secrets: ["mine"], headers: { "x-a": "1" } }
    const failing = () => {
      throw new Error("The vault is sealed.")
    }
    expect(resolveWith({ secrets: { KEY: "whsec_a2V5" } }, kept)).toBeNull()
    expect(resolveWith({ secrets: { ...secrets, NEXT: failing } }, kept)).toBeNull()
    expect(resolveWith({ secrets: { ...secrets, NEXT: "" } }, kept)).toBeNull()
  })
})

const sending: Sending = {
  url,
  id: "msg_1",
  event: "done",
  runId: "r",
  body: "{}",
  attempt: 1,
  secrets: [],
  headers: {},
  signal: new AbortController().signal,
}

describe("one delivery attempt", () => {
  test("an attempt has our headers, and custom ones that do not replace them", {
    tags: ["WH-04", "WH-05"],
  }, async () => {
    let sent: Readonly<Record<string, string>> = {}
    const post: WebhookPost = async (_url, _body, { headers = {} }) => {
      sent = headers
      return { status: 204 }
    }
    const headers = {
      Authorization: "Bearer t",
      "Content-Type": "text/plain",
      "WEBHOOK-ID": "msg_0",
      "Webhook-Signature": "v1,forged",
      "Longhaul-Event": "status.failed",
      "LongHaul-Delivery": "0",
    }
    const attempt = await deliver({ ...sending, headers }, post)
    expect(attempt).toMatchObject({ status: "delivered", httpCode: 204, attempt: 1 })
    expect(sent).toEqual({
      authorization: "Bearer t",
      "content-type": "application/json",
      "webhook-id": "msg_1",
      "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
      "longhaul-event": "status.done",
      "longhaul-run-id": "r",
      "longhaul-delivery": attempt?.delivery,
    })
  })

  test("a forbidden address is not retried; an unreachable one is", async () => {
    const failing = (error: Error) => deliver(sending, () => Promise.reject(error))
    expect(await failing(new ToolError("denied", "No."))).toMatchObject({ status: "stopped", error: "No." })
    expect(await failing(new ToolError("timeout", "Late."))).toMatchObject({ status: "retry", error: "Late." })
    expect(await failing(new Error("sentinel"))).toMatchObject({ status: "retry", error: "It could not be sent." })
  })

  test("an aborted attempt is not recorded, because its outcome is unknown", async () => {
    const signal = AbortSignal.abort()
    expect(await deliver({ ...sending, signal }, () => Promise.reject(new ToolError("aborted", "Stop.")))).toBeNull()
  })
})

describe("webhooks over fetch", () => {
  const options = { signal: sending.signal, timeoutMs: 1000, maxBytes: 0 }
  const postWith = (fetchLike: typeof fetch, allow: string[] = []) =>
    webhookSettings({ webhookAllow: allow, fetch: fetchLike }).post

  test("a private address is rejected before anything is sent, unless allowed", async () => {
    let calls = 0
    const answering = async () => {
      calls++
      return new Response("thanks", { status: 429, headers: { "retry-after": "7" } })
    }
    for (const target of ["http://10.0.0.1/", "http://0x7f.1/", "http://localhost/", "http://[::1]/"]) {
      await expect(postWith(answering)(target, "{}", options)).rejects.toMatchObject({ code: "denied" })
    }
    expect(calls).toBe(0)
    const answer = await postWith(answering, ["localhost"])("http://localhost/", "{}", options)
    expect(answer).toEqual({ status: 429, retryAfter: "7" })
  })

  test("webhooks do not follow redirects", async () => {
    let redirect: string | undefined
    const answering = async (_: unknown, init?: RequestInit) => {
      redirect = init?.redirect
      return new Response(null, { status: 307, headers: { location: "http://10.0.0.1/" } })
    }
    expect(await postWith(answering)(url, "{}", options)).toEqual({ status: 307 })
    expect(redirect).toBe("manual")
  })

  test("the body of a response is given back unread, so that it holds no connection", async () => {
    let cancelled = 0
    const body = () => new ReadableStream({ cancel: () => void cancelled++ })
    for (const status of [200, 500]) {
      expect(await postWith(async () => new Response(body(), { status }))(url, "{}", options)).toEqual({ status })
    }
    expect(cancelled).toBe(2)
  })

  test("a response that never arrives is a timeout", async () => {
    const hanging = (_: unknown, init?: RequestInit) =>
      new Promise<Response>((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(new Error("aborted")))
      })
    const late = postWith(hanging)(url, "{}", { ...options, timeoutMs: 5 })
    await expect(late).rejects.toMatchObject({ code: "timeout" })
    const broken = postWith(() => Promise.reject(new Error("reset")))(url, "{}", options)
    await expect(broken).rejects.toMatchObject({ code: "io" })
  })
})
