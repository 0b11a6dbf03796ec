import { createParser } from "eventsource-parser"
import fc from "fast-check"
import { expect, test } from "vitest"
import { SseCutter } from "./sse.ts"

function ours(bytes: Uint8Array, cuts: readonly number[]): string[] {
  const seen: string[] = []
  const cutter = new SseCutter({ event: (data) => seen.push(data) })
  let at = 0
  for (const cut of [...cuts, bytes.length].sort((left, right) => left - right)) {
    // The bytes are overwritten after the call, as a transport may do.
    const chunk = bytes.slice(at, cut)
    cutter.push(chunk)
    chunk.fill(33)
    at = Math.max(at, cut)
  }
  return seen
}

function oracle(text: string): string[] {
  const seen: string[] = []
  createParser({ onEvent: ({ data }) => seen.push(data) }).feed(text)
  return seen
}

const field = fc.oneof(
  fc.string({ maxLength: 12, unit: "grapheme" }).map((value) => `data: ${value.replace(/[\r\n]/g, "")}`),
  fc.constantFrom("data:", "data:x", "event: ping", "event:delta", ": comment", "id: 7", "retry: 3", "unknown: y", ""),
)

test("the SSE parser agrees with eventsource-parser on any stream and chunking", () => {
  fc.assert(
    fc.property(
      fc.array(field, { maxLength: 20 }),
      fc.constantFrom("\n", "\r\n"),
      fc.array(fc.nat(400), { maxLength: 8 }),
      (fields, newline, cuts) => {
        const text = fields.map((line) => line + newline).join("") + newline
        const bytes = new TextEncoder().encode(text)
        expect(
          ours(
            bytes,
            cuts.filter((cut) => cut < bytes.length),
          ),
        ).toEqual(oracle(text))
      },
    ),
    { numRuns: 3000 },
  )
})

test("a line of many chunks is joined once", () => {
  const seen: string[] = []
  const cutter = new SseCutter({ event: (data) => seen.push(data) })
  cutter.push(new TextEncoder().encode("data: "))
  for (let chunk = 0; chunk < 300_000; chunk++) cutter.push(new Uint8Array(4).fill(97))
  cutter.push(new TextEncoder().encode("\n\n"))
  expect(seen.map((data) => data.length)).toEqual([4 * 300_000])
})
