import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { pipeline, type Readable, type Transform } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib"
import { ToolError } from "../../../contract/tool.ts"
import { concatBytes } from "../../../lib/bytes.ts"

export const acceptedEncodings = "gzip, br, deflate"

/** The decompressed body up to `maxBytes`; anything beyond is neither read nor decompressed. */
export async function readBody(
  response: IncomingMessage,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly truncated: boolean }> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of await unpacked(response, maxBytes)) {
    chunks.push(chunk)
    size += chunk.length
    if (size > maxBytes) break
  }
  const truncated = size > maxBytes
  const bytes = concatBytes(chunks)
  return { bytes: truncated ? bytes.slice(0, maxBytes) : bytes, truncated }
}

async function unpacked(response: IncomingMessage, maxBytes: number): Promise<Readable> {
  const decoder = await decoderFor(response)
  if (decoder === undefined) return response
  // The reader reports its end; this only prevents an unhandled rejection.
  return pipeline(response, atMost(maxBytes + packedRoom), decoder, () => {})
}

async function decoderFor(response: IncomingMessage): Promise<Transform | undefined> {
  const encoding = (response.headers["content-encoding"] ?? "").trim().toLowerCase()
  switch (encoding) {
    case "":
    case "identity":
      return undefined
    case "gzip":
    case "x-gzip":
      return createGunzip()
    case "br":
      return createBrotliDecompress()
    case "deflate":
      return (await beginsWithZlibHeader(response)) ? createInflate() : createInflateRaw()
    default:
      throw new ToolError("io", "The server used a content encoding that was not requested.")
  }
}

/** The standard requires a zlib header; some servers omit it. */
async function beginsWithZlibHeader(response: IncomingMessage): Promise<boolean> {
  await once(response, "readable")
  // Safe: a stream without an encoding gives bytes.
  const start = response.read(1) as Uint8Array | null
  if (start === null) return true
  response.unshift(start)
  return ((start[0] ?? 0) & 0x0f) === 8
}

/** Compressed data is rarely larger than its content: data that decompresses to nothing must end too. */
const packedRoom = 64 * 1024

function atMost(limit: number) {
  return async function* (source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let size = 0
    for await (const chunk of source) {
      size += chunk.length
      if (size > limit) throw new ToolError("io", "The response is larger compressed than decompressed.")
      yield chunk
    }
  }
}
