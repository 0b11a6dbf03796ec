import { Webhook as Reference } from "standardwebhooks"
import { describe, expect, test } from "vitest"
import { LonghaulError } from "../contract/error.ts"
import { signWebhook } from "./sign.ts"
import { type ReceivedWebhook, verifyWebhook } from "./verify.ts"

/** The test vectors shared by the implementations of Standard Webhooks, and the one in each of their suites. */
const vectors = [
  {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp: 1696200454,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    body: '{"type": "example.created", "timestamp":"2023-09-28T19:20:22+00:00", "data":{"str":"string","bool":true,"int":42}}',
    signature: "v1,GgjvufBlIj71MBIVQotYGb+xEC3LNXCsIZp0HsDC8qs=",
  },
  {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp: 1614265330,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    body: '{"test": 2432232314}',
    signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
]

const [vector] = vectors as [(typeof vectors)[number]]
const now = vector.timestamp * 1000
const headersOf = ({ id, timestamp, signature }: typeof vector) => ({
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": signature,
})
const received = { headers: headersOf(vector), body: vector.body, secrets: vector.secret, now }

const reasonOf = (changed: Partial<ReceivedWebhook>) =>
  verifyWebhook({ ...received, ...changed }).then(
    () => "accepted",
    (error) => (LonghaulError.is(error) && error.code === "auth" ? (error.data as { reason: string }).reason : error),
  )
const withHeader = (name: string, value: string) => ({ headers: { ...received.headers, [name]: value } })

describe.each(vectors)("the shared test vector of $timestamp", (each) => {
  test("we produce the vector's signature", { tags: ["WH-06"] }, async () => {
    const content = { id: each.id, timestamp: String(each.timestamp), body: each.body }
    expect(await signWebhook(content, [each.secret])).toBe(each.signature)
  })

  test("we accept the vector's signature", async () => {
    const { body, secret: secrets, timestamp } = each
    const payload = await verifyWebhook({ headers: headersOf(each), body, secrets, now: timestamp * 1000 })
    expect(payload).toEqual(JSON.parse(each.body))
  })
})

test("a parsed body is rejected as auth, with advice to pass the raw body", async () => {
  const parsed = verifyWebhook({ ...received, body: JSON.parse(vector.body) })
  await expect(parsed).rejects.toMatchObject({
    code: "auth",
    message: expect.stringContaining("raw body"),
    data: { reason: "body_not_raw" },
  })
})

test.each([Number.NaN, -1, "x" as never])(
  "a tolerance of %s is rejected because it would accept webhooks of any age",
  async (toleranceSeconds) => {
    const replayed = verifyWebhook({ ...received, now: now + 1e9, toleranceSeconds })
    await expect(replayed).rejects.toMatchObject({ code: "config_invalid" })
  },
)

describe("what is no request", () => {
  const wrong: readonly unknown[] = [null, undefined, 7, Number.NaN, "x", "", true, Symbol("x"), () => {}, 1n]
  const named = (values: readonly unknown[]) =>
    values.map((value) => [typeof value === "object" ? JSON.stringify(value) : String(value), value] as const)
  const refusalOf = (changed: object) =>
    verifyWebhook(Object.assign({ ...received }, changed)).then(
      () => "accepted",
      (error: unknown) => (LonghaulError.is(error) ? error : `a raw ${String(error)}`),
    )

  test.each(named([...wrong, ["webhook-id", "x"], new Map(Object.entries(received.headers)), new Date(0)]))(
    "%s as headers is refused as config_invalid, with a fix",
    async (_, headers) => {
      const fix = expect.stringMatching(/./)
      expect(await refusalOf({ headers })).toMatchObject({
        code: "config_invalid",
        fix,
        message: expect.stringContaining("headers"),
      })
    },
  )

  test("an object without our headers has none of them", async () => {
    expect(await refusalOf({ headers: {} })).toMatchObject({ code: "auth", data: { reason: "header_missing" } })
  })

  test.each(named([null, 7, {}, [], undefined, ["x"]]))(
    "%s as the value of a header is missing, or no signature",
    async (_, value) => {
      const headers = { ...received.headers, "webhook-id": value }
      const reason = Array.isArray(value) && value.length > 0 ? "signature_mismatch" : "header_missing"
      expect(await refusalOf({ headers })).toMatchObject({ code: "auth", data: { reason } })
    },
  )

  test.each(
    named([null, undefined, 7, true, {}, [], () => {}, 1n, new ArrayBuffer(2), new Uint16Array(2), new Date(0)]),
  )("%s as a body is refused as one that is not raw", async (_, body) => {
    expect(await refusalOf({ body })).toMatchObject({ code: "auth", data: { reason: "body_not_raw" } })
  })

  test("a signed body that is no JSON is refused as one that is not raw", async () => {
    const content = { id: vector.id, timestamp: String(vector.timestamp), body: "no JSON" }
    const signature = await signWebhook(content, [vector.secret])
    const signed = { headers: headersOf({ ...vector, signature }), body: content.body }
    expect(await refusalOf(signed)).toMatchObject({ code: "auth", data: { reason: "body_not_raw" } })
  })
})

test("the standardwebhooks package and ours accept each other's signatures, with either secret format", async () => {
  const body = JSON.stringify({ text: "Grüße, 日本語 🚢", data: null })
  const timestamp = String(Math.floor(Date.now() / 1000))
  for (const [secret, reference] of [
    [vector.secret, new Reference(vector.secret)],
    ["any other text: ~", new Reference("any other text: ~", { format: "raw" })],
  ] as const) {
    const ours = await signWebhook({ id: "msg_1", timestamp, body }, [secret])
    const headers = { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": ours }
    expect(reference.verify(body, headers)).toEqual(JSON.parse(body))
    const theirs = reference.sign("msg_1", new Date(Number(timestamp) * 1000), body)
    const again = { ...headers, "webhook-signature": theirs }
    expect(await verifyWebhook({ headers: again, body, secrets: [secret] })).toEqual(JSON.parse(body))
  }
})

describe("verifyWebhook", () => {
  test("verifyWebhook accepts headers in any case and form, and a body of bytes", async () => {
    const loud = Object.fromEntries(
      Object.entries(received.headers).map(([name, value]) => [name.toUpperCase(), value]),
    )
    for (const headers of [loud, new Headers(loud)]) {
      expect(await reasonOf({ headers, body: new TextEncoder().encode(vector.body) })).toBe("accepted")
    }
  })

  test("verifyWebhook accepts any of several secrets and signatures", async () => {
    const other = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
    const several = withHeader("webhook-signature", `${other} v2,x ${vector.signature} v1a,y`)
    expect(await reasonOf({ ...several, secrets: ["whsec_bmV3", vector.secret] })).toBe("accepted")
  })

  test.each(["webhook-id", "webhook-timestamp", "webhook-signature"])(
    "verifyWebhook rejects a request without %s",
    async (name) => {
      expect(await reasonOf(withHeader(name, ""))).toBe("header_missing")
    },
  )

  test.each(["hello", "1696200454x", "-5", "1.7e9", " 1696200454"])(
    "verifyWebhook rejects the timestamp %j",
    async (timestamp) => {
      expect(await reasonOf(withHeader("webhook-timestamp", timestamp))).toBe("timestamp_malformed")
    },
  )

  test("verifyWebhook rejects timestamps more than five minutes old or ahead", { tags: ["WH-07"] }, async () => {
    expect(await reasonOf({ now: now + 300_000 })).toBe("accepted")
    expect(await reasonOf({ now: now + 301_000 })).toBe("too_old")
    expect(await reasonOf({ now: now - 300_000 })).toBe("accepted")
    expect(await reasonOf({ now: now - 301_000 })).toBe("too_new")
    expect(await reasonOf({ now: now + 301_000, toleranceSeconds: 400 })).toBe("accepted")
    expect(await reasonOf({ now, toleranceSeconds: 0 })).toBe("accepted")
    expect(await reasonOf({ now: now + 1_000, toleranceSeconds: 0 })).toBe("too_old")
  })

  test.each([
    ["a changed body", { body: vector.body.replace("42", "43") }],
    ["another id", withHeader("webhook-id", "msg_2")],
    ["another time", withHeader("webhook-timestamp", String(vector.timestamp + 1))],
    ["another secret", { secrets: "whsec_bmV3" }],
    ["no secret", { secrets: [] }],
    ["half a signature", withHeader("webhook-signature", vector.signature.slice(0, 20))],
    ["an empty signature", withHeader("webhook-signature", "v1,")],
    ["a signature that is no base64", withHeader("webhook-signature", "v1,***")],
    ["a signature of another version", withHeader("webhook-signature", vector.signature.replace("v1", "v2"))],
  ] satisfies [string, Partial<ReceivedWebhook>][])("verifyWebhook rejects %s", async (_, changed) => {
    expect(await reasonOf(changed)).toBe("signature_mismatch")
  })

  test.each(["", "whsec_", "whsec_***"])("verifyWebhook rejects %j as a secret", async (secrets) => {
    await expect(verifyWebhook({ ...received, secrets })).rejects.toMatchObject({ code: "config_invalid" })
  })
})
