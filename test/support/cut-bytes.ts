import fc from "fast-check"

/** A response and its bytes. */
export interface RawResponse {
  readonly status: number
  /** Names in lower case; repeated ones joined. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly framing: Framing
  readonly bytes: Buffer
}

type Framing = "chunked" | "length" | "close" | "none"

const character = (from: number, to: number) =>
  fc.integer({ min: from, max: to }).map((code) => String.fromCharCode(code))
const text = fc
  .array(fc.oneof(character(0x20, 0x7e), character(0x80, 0xff), fc.constant("\t")), { maxLength: 20 })
  .map((characters) => characters.join(""))
const white = fc.constantFrom("", " ", "\t", "  \t ")
/** Few, so that some are repeated. */
const name = fc.constantFrom("x-a", "X-A", "x-B", "x!#$%&'*+.^_`|~9", "Content-Type", "retry-after")
const header = fc.tuple(name, white, text, white)
const headers = fc.uniqueArray(header, {
  maxLength: 6,
  // Node keeps the first of these if they are repeated.
  selector: ([key, , value]) => (key.startsWith("x") || key.startsWith("X") ? `${key}${value}` : key),
})
const informational = fc.array(fc.tuple(fc.constantFrom(100, 102, 103), headers), { maxLength: 2 })
const status = fc.integer({ min: 200, max: 599 }).filter((code) => code !== 204 && code !== 304)

const extension = fc.constantFrom("", ";a", ";a=b", ';a="b;c\\"d"', ";a=1;b=2")
/** Syntax that Node rejects: white space before an extension, and extra text after a size. */
const looseExtension = fc.oneof(extension, fc.constantFrom(" ", "\t ;a", " ; a = b", ";\x80 odd"))
const chunk = (suffix: fc.Arbitrary<string>) =>
  fc.record({
    data: fc.uint8Array({ minLength: 1, maxLength: 60 }),
    zeros: fc.nat({ max: 4 }),
    upper: fc.boolean(),
    suffix,
  })

function size(length: number, zeros: number, upper: boolean): string {
  const digits = length.toString(16)
  return "0".repeat(zeros) + (upper ? digits.toUpperCase() : digits)
}

const chunked = (suffix: fc.Arbitrary<string>) =>
  fc
    .record({ chunks: fc.array(chunk(suffix), { maxLength: 8 }), zeros: fc.nat({ max: 4 }), suffix, trailers: headers })
    .map(({ chunks, zeros, suffix, trailers }) => {
      const framed = chunks.map((each) => [
        latin1(`${size(each.data.length, each.zeros, each.upper)}${each.suffix}\r\n`),
        each.data,
        latin1("\r\n"),
      ])
      const last = latin1(`0${"0".repeat(zeros)}${suffix}\r\n${lines(trailers)}\r\n`)
      return {
        framing: "chunked" as Framing,
        header: "Transfer-Encoding: CHUNKED\r\n",
        body: Buffer.concat(chunks.map((each) => each.data)),
        wire: Buffer.concat([...framed.flat(), last]),
      }
    })

const plain = fc.record({ body: fc.uint8Array({ maxLength: 200 }), zeros: fc.nat({ max: 3 }) })
const withLength = plain.map(({ body, zeros }) => ({
  framing: "length" as Framing,
  header: `content-LENGTH: ${"0".repeat(zeros)}${body.length}\r\n`,
  body: Buffer.from(body),
  wire: Buffer.from(body),
}))
const untilClose = plain.map(({ body }) => ({
  framing: "close" as Framing,
  header: "",
  body: Buffer.from(body),
  wire: Buffer.from(body),
}))
const none = fc.constantFrom("", "content-length: 7\r\n").map((line) => ({
  framing: "none" as Framing,
  header: line,
  body: Buffer.alloc(0),
  wire: Buffer.alloc(0),
}))

const response = (code: fc.Arbitrary<number>, body: fc.Arbitrary<Body>) =>
  fc
    .record({ informational, code, reason: text, headers, at: fc.nat({ max: 6 }), body })
    .map(({ informational, code, reason, headers, at, body }): RawResponse => {
      const before = informational.map(([early, hints]) => `HTTP/1.1 ${early} Early\r\n${lines(hints)}\r\n`).join("")
      const head = lines(headers.slice(0, at)) + body.header + lines(headers.slice(at))
      return {
        status: code,
        headers: joined(headers),
        body: body.body,
        framing: body.framing,
        bytes: Buffer.concat([latin1(`${before}HTTP/1.1 ${code} ${reason}\r\n${head}\r\n`), body.wire]),
      }
    })

interface Body {
  readonly framing: Framing
  readonly header: string
  readonly body: Buffer
  readonly wire: Buffer
}

const bodiless = response(fc.constantFrom(204, 304), none)

/** Responses after which the connection can be reused. */
export const reusableResponse = fc.oneof(
  { weight: 3, arbitrary: response(status, chunked(looseExtension)) },
  { weight: 2, arbitrary: response(status, withLength) },
  { weight: 1, arbitrary: bodiless },
)
export const anyResponse = fc.oneof(
  { weight: 4, arbitrary: reusableResponse },
  { weight: 1, arbitrary: response(status, untilClose) },
)
/** Without syntax that only we accept. */
export const commonResponse = fc.oneof(
  response(status, chunked(extension)),
  response(status, withLength),
  response(status, untilClose),
  bodiless,
)

/** Sizes of the reads, repeated. */
export const readSizes = fc.oneof(
  fc.constant([1]),
  fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 6 }),
  fc.constant([1 << 16]),
)

/** Cut as the sizes say. */
export function cut(bytes: Uint8Array, sizes: readonly number[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const next = at + (sizes[pieces.length % sizes.length] as number)
    pieces.push(bytes.subarray(at, next))
    at = next
  }
  return pieces
}

type Lines = readonly (readonly [string, string, string, string])[]

function lines(headers: Lines): string {
  return headers.map(([key, before, value, after]) => `${key}:${before}${value}${after}\r\n`).join("")
}

function joined(headers: Lines): Readonly<Record<string, string>> {
  const values = new Map<string, string>()
  for (const [key, , value] of headers) {
    const known = values.get(key.toLowerCase())
    const bare = value.replace(/^[\t ]+/, "").replace(/[\t ]+$/, "")
    values.set(key.toLowerCase(), known === undefined ? bare : `${known}, ${bare}`)
  }
  return Object.fromEntries(values)
}

function latin1(text: string): Buffer {
  return Buffer.from(text, "latin1")
}
