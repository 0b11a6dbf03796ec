import type { ContentPart } from "../../contract/content.ts"
import type { Environment } from "../../contract/env.ts"
import type { Attachment } from "../../contract/run.ts"
import { ToolError } from "../../contract/tool.ts"
import { base64ToBytes, bytesToBase64 } from "../../lib/bytes.ts"
import { configInvalid } from "../../lib/failures.ts"

/** Converts attachments to content parts. Files are read only where the tools may read. */
export async function attachedParts(
  attachments: readonly Attachment[],
  env: Environment,
  cwd: string,
): Promise<readonly ContentPart[]> {
  const parts: ContentPart[] = []
  let left = MAX_BYTES
  for (const attachment of attachments) {
    const { bytes, mediaType, name } = await load(attachment, env, cwd)
    left -= bytes.length
    if (left < 0)
      throw configInvalid(
        `The attachments have more than ${MAX_BYTES} bytes.`,
        "Attach less, or let tools read the files.",
      )
    parts.push(toPart(bytes, mediaType, name))
  }
  return parts
}

interface Loaded {
  readonly bytes: Uint8Array
  readonly mediaType: string
  readonly name?: string | undefined
}

async function load(attachment: Attachment, env: Environment, cwd: string): Promise<Loaded> {
  if ("data" in attachment) {
    const { data, mediaType, name } = attachment
    return { bytes: typeof data === "string" ? decoded(data) : data, mediaType, name }
  }
  const { path } = attachment
  if (!env.files)
    throw configInvalid(`${path} cannot be attached: there is no file system.`, "Give its bytes as `data`.")
  try {
    const bytes = await env.files.read(path, cwd, { offset: 0, limit: MAX_BYTES + 1 })
    return { bytes, mediaType: attachment.mediaType ?? mediaTypeOf(path), name: path.split("/").at(-1) ?? path }
  } catch (error) {
    const why = error instanceof ToolError ? error.message : "it cannot be read"
    throw configInvalid(
      `${path} cannot be attached: ${why}`,
      "Check the path: it must be in a folder that the tools may read.",
      error,
    )
  }
}

function toPart(bytes: Uint8Array, mediaType: string, name: string | undefined): ContentPart {
  if (images.has(mediaType)) return { type: "image", mediaType, data: bytesToBase64(bytes) }
  if (mediaType === "application/pdf") {
    return { type: "file", mediaType, data: bytesToBase64(bytes), ...(name !== undefined && { name }) }
  }
  if (mediaType.startsWith("text/") || mediaType === "application/json") {
    const text = new TextDecoder().decode(bytes)
    return { type: "text", text: name === undefined ? text : `${name}:\n${text}` }
  }
  throw configInvalid(
    `${name ?? "An attachment"} is of type ${mediaType}, which models do not accept.`,
    "Attach PNG, JPEG, GIF or WebP images, PDFs or text.",
  )
}

function decoded(data: string): Uint8Array {
  try {
    return base64ToBytes(data)
  } catch (cause) {
    throw configInvalid("An attachment's `data` is not base64.", "Give bytes, or a base64 string.", cause)
  }
}

export function mediaTypeOf(path: string): string {
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase()
  return byEnding[ending] ?? "text/plain"
}

/** More than providers accept in one request. */
const MAX_BYTES = 32 * 1024 * 1024

const images: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"])

const byEnding: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  json: "application/json",
}
