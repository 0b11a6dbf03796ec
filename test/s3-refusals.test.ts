import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { afterEach, describe, expect, test } from "vitest"
import { LonghaulError } from "../src/contract/error.ts"
import { createRuntime } from "../src/index.ts"
import { type S3StoreOptions, s3Store } from "../src/stores/s3/index.ts"
import { scriptedModel } from "../src/testing/index.ts"

const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "sEcReT/never/told", sessionToken: "tOkEn/never/told" }

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
})

/** A store's response to `If-None-Match: *` on a taken or a free name. */
type Habit =
  | "sound"
  | "overwrites"
  | "keeps, and says created"
  | "overwrites, and says exists"
  | "refuses all"
  | "unknown"

/** The subset of S3 that the probe and a run need. */
async function fakeS3(habit: Habit): Promise<{ endpoint: string; objects: Map<string, Buffer>; probed: Set<string> }> {
  const objects = new Map<string, Buffer>()
  const probed = new Set<string>()
  server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    const { method, url = "/", headers } = incoming
    const { pathname, searchParams } = new URL(url, "http://fake")
    const answer = (status: number, content: string | Buffer = "") => outgoing.writeHead(status).end(content)
    if (pathname.includes("probe")) probed.add(pathname)
    const isTaken = objects.has(pathname)
    if (searchParams.has("list-type")) return answer(200, '<ListBucketResult xmlns="x"></ListBucketResult>')
    if (method === "DELETE") return answer(objects.delete(pathname) ? 204 : 404)
    if (method !== "PUT") return answer(isTaken ? 200 : 404, objects.get(pathname))
    const conditional = headers["if-none-match"] === "*"
    if (conditional && habit === "unknown") return answer(501, "<Error><Code>NotImplemented</Code></Error>")
    if (conditional && habit === "refuses all") return answer(412)
    if (!(conditional && isTaken) || habit.startsWith("overwrites")) objects.set(pathname, body)
    const saysExists = habit === "sound" || habit === "overwrites, and says exists"
    return answer(conditional && isTaken && saysExists ? 412 : 200)
  })
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve))
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, objects, probed }
}

const storeAt = (endpoint: string) => s3Store({ bucket: "runs", endpoint, ...keys })

describe("a store that ignores conditional writes is rejected at startup with the reason", () => {
  const unfit: readonly [Habit, RegExp][] = [
    ["overwrites", /reported the same name as created twice, so two processes could own one run/],
    ["keeps, and says created", /reported the same name as created twice/],
    ["overwrites, and says exists", /did not keep the object that was created first/],
    ["refuses all", /did not keep the object that was created first/],
    ["unknown", /does not support the condition/],
  ]

  test.each(unfit)("a store that %s is rejected", async (habit, why) => {
    const { endpoint, objects } = await fakeS3(habit)
    const store = storeAt(endpoint)
    const refusal = { code: "config_invalid", retryable: false, fix: expect.stringMatching(/If-None-Match.*S3, R2/) }
    await expect(store.check?.()).rejects.toMatchObject({ ...refusal, message: expect.stringMatching(why) })
    await expect(store.folder("run").create("000000.jsonl", new Uint8Array(1))).rejects.toMatchObject(refusal)
    const model = scriptedModel(["Never said."])
    const result = await createRuntime({ store, model }).run({ task: "Begin." })
    expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
    expect(result.error?.message).toMatch(why)
    expect(model.calls).toHaveLength(0)
    expect([...objects.keys()]).toEqual([])
  })

  test("control: a correct store is accepted, tested once, and keeps no probe object", async () => {
    const { endpoint, objects, probed } = await fakeS3("sound")
    const store = storeAt(endpoint)
    const runtime = createRuntime({ store, model: scriptedModel(["One.", "Two."]) })
    expect(await runtime.run({ task: "Begin." })).toMatchObject({ status: "done", text: "One." })
    expect(await runtime.run({ task: "Again." })).toMatchObject({ status: "done", text: "Two." })
    expect([...objects.keys()].filter((key) => key.includes("probe"))).toEqual([])
    expect(probed.size).toBe(1)
    expect(objects.size).toBeGreaterThan(1)
  })

  test("a store that allows one write per second and name is given the time", async () => {
    const { endpoint } = await fakeS3("sound")
    let writes = 0
    const store = s3Store({
      bucket: "runs",
      endpoint,
      ...keys,
      fetch: async (input, init) => {
        const isTooSoon = init?.method === "PUT" && ++writes > 1 && writes < 7
        return isTooSoon ? new Response(null, { status: 429 }) : fetch(input, init)
      },
    })
    await expect(store.check?.()).resolves.toBeUndefined()
    expect(writes).toBe(7)
  })

  test("a store that could not be tested is tested again", async () => {
    const { endpoint } = await fakeS3("sound")
    let down = true
    const store = s3Store({
      bucket: "runs",
      endpoint,
      ...keys,
      fetch: async (input, init) => (down ? new Response(null, { status: 403 }) : fetch(input, init)),
    })
    await expect(store.check?.()).rejects.toMatchObject({ code: "storage" })
    down = false
    await expect(store.check?.()).resolves.toBeUndefined()
  })
})

describe("store errors have a fix", () => {
  const answering = (status: number, code: string, headers: Record<string, string> = {}) =>
    s3Store({
      bucket: "runs",
      region: "eu-west-1",
      ...keys,
      fetch: async () =>
        new Response(
          `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${keys.secretAccessKey} ${keys.accessKeyId}</Message></Error>`,
          { status, headers },
        ),
    })

  const cases: readonly [
    status: number,
    code: string,
    retryable: boolean,
    fix: RegExp,
    headers?: Record<string, string>,
  ][] = [
    [403, "AccessDenied", false, /Allow the key to get, put, delete and list/],
    [403, "RequestTimeTooSkewed", false, /this machine's clock/],
    [403, "SignatureDoesNotMatch", false, /Check accessKeyId, secretAccessKey/],
    [400, "ExpiredToken", false, /new temporary credentials/],
    [404, "NoSuchBucket", false, /Create the bucket/],
    [301, "Moved", false, /Set region to "us-east-2"/, { "x-amz-bucket-region": "us-east-2" }],
    [307, "TemporaryRedirect", false, /region and endpoint/],
  ]

  test.each(cases)("%i %s has a fix", async (status, code, retryable, fix, headers) => {
    const folder = answering(status, code, headers).folder("run")
    const works = [
      () => folder.read("a"),
      () => folder.list(),
      () => folder.replace("a", new Uint8Array(1)),
      () => folder.delete("a"),
    ]
    for (const work of works) {
      const error: unknown = await work().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: "storage", retryable, fix: expect.stringMatching(fix) })
      expect(error).toMatchObject({ message: expect.stringContaining(`${status} ${code}`), data: { status, code } })
    }
  })

  test("store errors never contain a key, a secret or the store's own text", async () => {
    for (const [status, code] of cases) {
      const error = await answering(status, code)
        .folder("run")
        .read("a")
        .catch((thrown: unknown) => thrown)
      if (!LonghaulError.is(error)) throw new Error("expected a LonghaulError")
      const told = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`
      for (const secret of Object.values(keys)) expect(told).not.toContain(secret)
    }
    const store = storeAt("http://127.0.0.1:9")
    expect(`${store.location} ${store.folder("run").location} ${JSON.stringify(store)}`).toBe(
      's3://runs s3://runs/run {"location":"s3://runs"}',
    )
  })

  test("a name that a URL would normalise to another is rejected", async () => {
    const folder = answering(500, "Never").folder("tenants/../other")
    await expect(folder.read("a")).rejects.toMatchObject({ code: "storage", retryable: false })
  })
})

describe("bucket addresses", () => {
  const askedOf = async (options: Partial<S3StoreOptions>) => {
    let asked = ""
    const fetch = async (input: string | URL | Request) => {
      asked = String(input)
      return new Response(null, { status: 404 })
    }
    await s3Store({ bucket: "runs", ...keys, ...options, fetch })
      .folder("run")
      .read("it's")
    return asked
  }

  const forms: readonly [string, Partial<S3StoreOptions>, string][] = [
    ["a host of its own on AWS", { region: "eu-west-1" }, "https://runs.s3.eu-west-1.amazonaws.com/run/it%27s"],
    ["in China", { region: "cn-north-1" }, "https://runs.s3.cn-north-1.amazonaws.com.cn/run/it%27s"],
    [
      "a name with dots",
      { region: "eu-west-1", bucket: "a.b.c" },
      "https://s3.eu-west-1.amazonaws.com/a.b.c/run/it%27s",
    ],
    [
      "R2",
      { endpoint: "https://acc.r2.cloudflarestorage.com/" },
      "https://acc.r2.cloudflarestorage.com/runs/run/it%27s",
    ],
    [
      "under a prefix",
      { endpoint: "http://localhost:9000/s3", prefix: "/a b/c/" },
      "http://localhost:9000/s3/runs/a%20b/c/run/it%27s",
    ],
  ]

  test.each(forms)("a bucket has the address of its form: %s", async (_, options, address) => {
    expect(await askedOf(options)).toBe(address)
  })

  test.each<[string, Partial<S3StoreOptions>]>([
    ["no region and no endpoint", {}],
    ["no key", { region: "eu-west-1", accessKeyId: "" }],
    ["no secret", { region: "eu-west-1", secretAccessKey: "" }],
    ["an address as bucket", { region: "eu-west-1", bucket: "https://runs" }],
    ["an endpoint that is none", { endpoint: "localhost" }],
    ["an endpoint with a password", { endpoint: "https://a:b@host" }],
    ["a prefix that climbs", { region: "eu-west-1", prefix: "a/../b" }],
    ["no time", { region: "eu-west-1", timeoutMs: 0 }],
  ])("invalid bucket settings are rejected immediately: %s", (_, options) => {
    let error: unknown
    try {
      s3Store({ bucket: "runs", ...keys, ...options })
    } catch (thrown) {
      error = thrown
    }
    expect(error).toMatchObject({ code: "config_invalid", fix: expect.stringMatching(/^Give /) })
    for (const secret of Object.values(keys)) expect(String(error)).not.toContain(secret)
  })
})
