import { expect, test } from "vitest"
import type { Call, Request } from "./client.ts"
import { PART_BYTES, uploadInParts } from "./multipart.ts"

const COMPLETED = "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
const FAILED = "<Error><Code>InternalError</Code></Error>"

/** A store that responds to each completion with status 200 and the next of these bodies. */
function storeCompleting(...bodies: string[]) {
  const asked: string[] = []
  const call: Call = async (_doing, { method, query = {} }: Request) => {
    asked.push(`${method} ${Object.keys(query).sort().join()}`)
    const begins = method === "POST" && "uploads" in query
    const completes = method === "POST" && "uploadId" in query
    const text = begins ? "<UploadId>u</UploadId>" : completes ? (bodies.shift() ?? FAILED) : ""
    return { status: 200, body: new TextEncoder().encode(text), header: (name) => (name === "etag" ? "tag" : null) }
  }
  const times = (request: string) => asked.filter((each) => each === request).length
  return { upload: () => uploadInParts(call, "write it", "key", new Uint8Array(PART_BYTES + 1)), times }
}

test("a multipart completion with an error in its 200 is retried", async () => {
  const { upload, times } = storeCompleting(FAILED, COMPLETED)
  await upload()
  expect([times("POST uploadId"), times("DELETE uploadId")]).toEqual([2, 0])
})

test("multipart completions that all have an error in their 200 fail the write and abort the upload", async () => {
  const { upload, times } = storeCompleting()
  await expect(upload()).rejects.toMatchObject({ code: "storage", message: expect.stringContaining("write it") })
  expect(times("POST uploadId")).toBeGreaterThan(1)
  expect(times("DELETE uploadId")).toBe(1)
})

test("a multipart completion with an empty body in its 200 is not a success", async () => {
  const { upload, times } = storeCompleting("", COMPLETED)
  await upload()
  expect(times("POST uploadId")).toBe(2)
})
