import { LonghaulError } from "../../contract/error.ts"
import { type Call, patiently } from "./client.ts"
import { errorCode, refused } from "./failure.ts"
import { elementText, encodeText } from "./xml.ts"

/** Larger bodies are uploaded in parts, so that only a failed part is sent again. */
export const PART_BYTES = 8 * 1024 * 1024
const LANES = 4

/** Writes a large body as a whole or not at all. After a failure, the uploaded parts are deleted. */
export async function uploadInParts(call: Call, doing: string, key: string, bytes: Uint8Array): Promise<void> {
  const begun = await patiently(() => call(doing, { method: "POST", key, query: { uploads: "" } }))
  const uploadId = elementText(new TextDecoder().decode(begun.body), "UploadId")
  if (uploadId === undefined) throw refused(doing, begun)
  try {
    const tags = await sendParts(call, doing, key, bytes, uploadId)
    await complete(call, doing, key, uploadId, tags)
  } catch (error) {
    // Parts that cannot be deleted are left to the bucket's expiry rules; the first error is the one to report.
    await call(doing, { method: "DELETE", key, query: { uploadId } }, [404]).catch(() => {})
    throw error
  }
}

/** Uploads all parts and returns their tags in order. */
async function sendParts(
  call: Call,
  doing: string,
  key: string,
  bytes: Uint8Array,
  uploadId: string,
): Promise<string[]> {
  const tags: string[] = new Array(Math.ceil(bytes.length / PART_BYTES))
  let next = 0
  let failed = false
  const lane = async () => {
    for (let part = next++; part < tags.length && !failed; part = next++) {
      const query = { partNumber: String(part + 1), uploadId }
      const body = bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)
      const answer = await patiently(() => call(doing, { method: "PUT", key, query, body }))
      const tag = answer.header("etag")
      if (tag === null) throw refused(doing, answer)
      tags[part] = tag
    }
  }
  const lanes = Array.from({ length: LANES }, () =>
    lane().catch((error: unknown) => {
      failed = true
      throw error
    }),
  )
  const failure = (await Promise.allSettled(lanes)).find(({ status }) => status === "rejected")
  if (failure?.status === "rejected") throw failure.reason
  return tags
}

async function complete(
  call: Call,
  doing: string,
  key: string,
  uploadId: string,
  tags: readonly string[],
): Promise<void> {
  const parts = tags.map(
    (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${encodeText(tag)}</ETag></Part>`,
  )
  const body = new TextEncoder().encode(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`)
  let attempts = 0
  await patiently(async () => {
    const isFirst = attempts++ === 0
    const answer = await call(doing, { method: "POST", key, query: { uploadId }, body }, [404])
    // Only this process knows the upload, so an earlier attempt completed it and its response was lost.
    if (!isFirst && errorCode(answer) === "NoSuchUpload") return
    if (answer.status === 404) throw refused(doing, answer)
    // A store that starts its response before the work is done reports failures in the body.
    if (!/<CompleteMultipartUploadResult[\s>]/.test(new TextDecoder().decode(answer.body))) {
      throw new LonghaulError("storage", `Could not ${doing}: the store did not assemble the parts.`)
    }
  })
}
