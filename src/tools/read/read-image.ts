import type { ContentPart } from "../../contract/content.ts"
import { ToolError } from "../../contract/tool.ts"
import { bytesToBase64 } from "../../lib/bytes.ts"
import { imageSizeOf, MAX_MEDIA_BYTES } from "../media.ts"

/** An image for the model, after a line that describes it. `bytes`: the complete file. */
export function readImage(bytes: Uint8Array, mediaType: string, name: string): readonly ContentPart[] {
  const size = imageSizeOf(bytes)
  if (size === undefined || size.width === 0 || size.height === 0) {
    throw new ToolError("invalid_input", `${name} is a damaged image.`)
  }
  const { width, height } = size
  if (Math.max(width, height) > MAX_PIXELS) {
    const most = `the limit is ${MAX_PIXELS} per side`
    throw new ToolError(
      "invalid_input",
      `${name} is an image of ${width} × ${height} pixels; ${most}. Scale it down first.`,
    )
  }
  return [
    { type: "text", text: `${name}: ${mediaType}, ${width} × ${height} pixels, ${bytes.length} bytes` },
    { type: "image", mediaType, data: bytesToBase64(bytes) },
  ]
}

export function imageTooLarge(name: string, bytes: number): ToolError {
  const most = `the limit is ${MAX_MEDIA_BYTES}`
  return new ToolError("invalid_input", `${name} is an image of ${bytes} bytes; ${most}. Scale it down first.`)
}

/** Providers reject larger ones, and then every request that contains one. */
const MAX_PIXELS = 8000
