import { describe, expect, test } from "vitest"
import { bytesToBase64 } from "../../lib/bytes.ts"
import { MAX_BASE64_LENGTH } from "../media.ts"
import { defineTool } from "./define-tool.ts"
import { createDispatcher } from "./dispatch.ts"
import { createToolContext } from "./tool-context.ts"

const context = createToolContext()

function dispatcherOf(returned: unknown, bounded = false) {
  const input = { type: "object" } as const
  const run = () => returned
  return createDispatcher(
    [defineTool({ name: "tool", description: "A tool.", inputSchema: input, effect: "none", bounded, run })],
    {
      maxOutputBytes: 100,
    },
  )
}

async function outputOf(returned: unknown, bounded?: boolean) {
  return (await dispatcherOf(returned, bounded).dispatch({ name: "tool", args: {} }, context)).output
}

const base64 = (text: string) => btoa(text)
const PNG = base64("\x89PNG\r\n\x1a\n and more.")
const PDF = base64("%PDF-1.4 and more")
const image = { type: "image", mediaType: "image/png", data: PNG } as const
const file = { type: "file", mediaType: "application/pdf", data: PDF, name: "a.pdf" } as const
const left = (what: string, why: string) => [{ type: "text", text: `[${what}] was omitted: ${why}.` }]

describe("non-text content of tool results", () => {
  test("images and documents are passed on unchanged, as our own part types", async () => {
    const returned = [{ type: "text", text: "Look:" }, { ...image, extra: 1 }, file]
    expect(await outputOf(returned)).toEqual([{ type: "text", text: "Look:" }, image, file])
  })

  test("callTool describes images and documents as text", async () => {
    const { text } = await dispatcherOf([{ type: "text", text: "Look:" }, image, file]).callTool("tool", {}, context)
    expect(text).toBe("Look:\n[image: image/png]\n[file: a.pdf, application/pdf]")
  })

  test("an image's type is detected from its bytes, whatever its declared type", async () => {
    const jpeg = base64("\xff\xd8\xff\xe0 and more")
    expect(await outputOf([{ ...image, data: jpeg }])).toEqual([{ ...image, mediaType: "image/jpeg", data: jpeg }])
  })

  test("a text file becomes text, within the limits", async () => {
    const note = { type: "file", mediaType: "text/csv", data: bytesToBase64(new TextEncoder().encode("a,é")) }
    expect(await outputOf([note])).toEqual([{ type: "text", text: "a,é" }])
    expect(await outputOf([{ ...note, name: "t.csv" }])).toEqual([{ type: "text", text: "t.csv:\na,é" }])
    const [cut] = await outputOf([{ ...note, data: base64("x".repeat(500)) }])
    expect(cut).toEqual({ type: "text", text: `${"x".repeat(52)}\n[cut: 448 bytes omitted]` })
  })

  test.each<[string, object, ReturnType<typeof left>]>([
    ["an image of another kind", { ...image, data: base64("<svg/>") }, left("image: image/png", notImage())],
    ["an empty image", { ...image, data: "" }, left("image: image/png", "it is not base64")],
    ["data that is no base64", { ...image, data: "a b=" }, left("image: image/png", "it is not base64")],
    ["base64 that is cut", { ...image, data: PNG.slice(0, -1) }, left("image: image/png", "it is not base64")],
    [
      "a document of another kind",
      { type: "file", mediaType: "application/zip", data: base64("PK\x03\x04") },
      left("file: application/zip", "it is neither a PDF nor text"),
    ],
    [
      "a PDF that is none",
      { ...file, data: base64("hello!") },
      left("file: a.pdf, application/pdf", "it is neither a PDF nor text"),
    ],
    [
      "an image that is too large",
      { ...image, data: PNG + "A".repeat(MAX_BASE64_LENGTH) },
      left("image: image/png", "it has more than 3932160 bytes"),
    ],
  ])("%s is omitted with a text notice", async (_, part, output) => {
    expect(await outputOf([part])).toEqual(output)
    // A tool that limits its own text does not limit these.
    expect(await outputOf([part], true)).toEqual(output)
  })

  test("the total size of media in one result is bounded", async () => {
    const large = { ...image, data: PNG + "A".repeat(4 * 1024 * 1024) }
    const output = await outputOf([large, large, large, image])
    expect(output.map(({ type }) => type)).toEqual(["image", "image", "text", "image"])
    expect(output[2]).toEqual(left("image: image/png", "the result has too many bytes of images and documents")[0])
  })

  test("text next to media is cut, media is not", async () => {
    const long = { type: "text", text: "x".repeat(200) }
    expect(await outputOf([image, long])).toEqual([
      image,
      { type: "text", text: `${"x".repeat(52)}\n[cut: 148 bytes omitted]` },
    ])
    expect(await outputOf([long, image])).toEqual([
      { type: "text", text: "x".repeat(52) },
      image,
      { type: "text", text: "[cut: 148 bytes omitted]" },
    ])
  })

  test.each<[string, unknown]>([
    ["without data", [{ type: "image", mediaType: "image/png" }]],
    ["without a media type", [{ type: "file", data: PDF }]],
    ["of an unknown type", [{ type: "video", mediaType: "video/mp4", data: PNG }]],
  ])("a part %s is treated as any other JSON value", async (_, returned) => {
    expect(await outputOf(returned)).toEqual([{ type: "text", text: JSON.stringify(returned).slice(0, 200) }])
  })
})

function notImage(): string {
  return "it is not a PNG, JPEG, GIF or WebP"
}
