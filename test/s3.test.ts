import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { storeCases } from "../src/testing/store-cases.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"

let server: S3Server
let oracle: S3Client
beforeAll(async () => {
  server = await startS3()
  const { endpoint, accessKeyId, secretAccessKey } = server.options
  oracle = new S3Client({
    endpoint,
    region: "auto",
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  })
})
afterAll(async () => {
  oracle?.destroy()
  await server?.close()
})

const Bucket = "runs"
const bytesOf = (text: string) => new TextEncoder().encode(text)

describe("s3Store passes the store conformance cases", () => {
  for (const { name, run } of storeCases.filter(({ needs }) => needs !== "append")) {
    test(name, () => run(server.freshStore()))
  }
})

describe("compatibility with another S3 client", () => {
  const names = [
    "plain.jsonl",
    "with space",
    "!'()*",
    "plus+and&",
    "percent%20",
    "quote\"'<>",
    "ünïcödé-日本-🚚",
    "~.-_",
    "a=b;c:@,$",
  ]

  async function oracleKeys(Prefix: string): Promise<string[]> {
    const { Contents = [] } = await oracle.send(new ListObjectsV2Command({ Bucket, Prefix }))
    return Contents.map(({ Key }) => Key ?? "")
  }

  test("another client lists and reads our objects under the same keys", async () => {
    const folder = server.freshStore({ prefix: "/shared/ours/" }).folder("tenants/it's (me)!*")
    for (const name of names) await folder.create(name, bytesOf(`body of ${name}`))
    await folder.replace("inbox/state.json", bytesOf("in a subfolder"))
    const under = "shared/ours/tenants/it's (me)!*/"
    expect((await oracleKeys(under)).sort()).toEqual([...names, "inbox/state.json"].map((name) => under + name).sort())
    for (const name of names) {
      const { Body } = await oracle.send(new GetObjectCommand({ Bucket, Key: under + name }))
      expect(await Body?.transformToString()).toBe(`body of ${name}`)
    }
    for (const name of names) await folder.delete(name)
    expect(await oracleKeys(under)).toEqual([`${under}inbox/state.json`])
  })

  test("we list and read another client's objects and do not overwrite them", async () => {
    const store = server.freshStore({ prefix: "theirs" })
    const folder = store.folder("run")
    for (const name of names) {
      await oracle.send(new PutObjectCommand({ Bucket, Key: `theirs/run/${name}`, Body: `theirs: ${name}` }))
    }
    expect(await folder.list()).toEqual([...names].sort())
    for (const name of names) {
      expect(await folder.create(name, bytesOf("ours"))).toBe("exists")
      expect(new TextDecoder().decode((await folder.read(name)) ?? undefined)).toBe(`theirs: ${name}`)
    }
    await oracle.send(new DeleteObjectCommand({ Bucket, Key: "theirs/run/plain.jsonl" }))
    expect(await folder.exists("plain.jsonl")).toBe(false)
  })

  test("an object that represents the folder itself is not a name in it", async () => {
    await oracle.send(new PutObjectCommand({ Bucket, Key: "console/run/", Body: "" }))
    await oracle.send(new PutObjectCommand({ Bucket, Key: "console/run/000000.jsonl", Body: "x" }))
    expect(await server.freshStore({ prefix: "console" }).folder("run").list()).toEqual(["000000.jsonl"])
  })

  test("a multipart body is one object", async () => {
    const bytes = new Uint8Array(19 * 1024 * 1024)
    for (let index = 0; index < bytes.length; index++) bytes[index] = index * 31 + (index >> 13)
    const folder = server.freshStore({ prefix: "large" }).folder("run")
    await folder.replace("toolResults/large", bytes)
    const { Body } = await oracle.send(new GetObjectCommand({ Bucket, Key: "large/run/toolResults/large" }))
    expect(Buffer.compare(Buffer.from((await Body?.transformToByteArray()) ?? []), bytes)).toBe(0)
    expect(Buffer.compare(Buffer.from((await folder.read("toolResults/large")) ?? []), bytes)).toBe(0)
  })
})

describe("a multi-page listing", () => {
  test("a listing combines all its pages", async () => {
    const asked: string[] = []
    const store = server.freshStore({
      fetch: (input, init) => {
        if (String(input).includes("list-type")) asked.push(String(input))
        return fetch(input, init)
      },
    })
    const folder = store.folder("run")
    const names = Array.from({ length: 1203 }, (_, index) => `${String(index).padStart(6, "0")}.jsonl`)
    for (let from = 0; from < names.length; from += 40) {
      await Promise.all(names.slice(from, from + 40).map((name) => folder.replace(name, bytesOf(name))))
    }
    expect(await folder.list()).toEqual(names)
    expect(asked).toHaveLength(2)
  })
})
