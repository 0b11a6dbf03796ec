import { describe, expect, test } from "vitest"
import { FlushEncoder, scanShard } from "./shard.ts"

const header = JSON.stringify({ v: 1, writer: "w", base: null })

/** A shard of one header and the given flushes, with the offset at which each flush ends. */
function shard(...flushes: string[][]): { bytes: Uint8Array; ends: number[] } {
  let bytes = new Uint8Array()
  const ends: number[] = []
  flushes.forEach((lines, index) => {
    const flush = new FlushEncoder().encode(index === 0 ? [header, ...lines] : lines, bytes.length)
    bytes = new Uint8Array([...bytes, ...flush])
    ends.push(bytes.length)
  })
  return { bytes, ends }
}

const line = (seq: number, text = "x") => JSON.stringify({ seq, type: "note", text })

describe("a shard", () => {
  test("gives back the lines of its complete flushes", () => {
    const { bytes } = shard([line(0)], [line(1), line(2, 'ünïcode\n{},"end":"0.00000000"}')])
    const scanned = scanShard(bytes)
    expect(scanned.header).toMatchObject({ v: 1, writer: "w", base: null })
    expect(scanned.lines.map(({ seq }) => seq)).toEqual([0, 1, 2])
    expect(scanned.lines[2]?.text).toBe('ünïcode\n{},"end":"0.00000000"}')
    expect(scanned.validBytes).toBe(bytes.length)
    expect(scanned.damaged).toBe(false)
  })

  test("is whole whatever its length and characters, also where one encoder writes flush after flush", () => {
    const encoder = new FlushEncoder()
    for (const character of ["x", "é", "☕"]) {
      for (let length = 600; length < 2100; length += 1) {
        const bytes = encoder.encode([header, line(0, character.repeat(length))], 0)
        expect(scanShard(bytes).validBytes, `${length} × ${character}`).toBe(bytes.length)
      }
    }
  })

  test("cut at every byte keeps exactly the flushes that are whole, and calls nothing damaged", () => {
    const { bytes, ends } = shard([line(0)], [line(1), line(2)], [line(3)])
    for (let cut = 0; cut <= bytes.length; cut++) {
      const scanned = scanShard(bytes.subarray(0, cut))
      const whole = ends.filter((end) => end <= cut).at(-1) ?? 0
      expect(scanned.validBytes).toBe(whole)
      expect(scanned.header === null).toBe(whole === 0)
      expect(scanned.damaged).toBe(false)
    }
  })

  test("with any byte of an earlier flush altered is damaged, never skipped", () => {
    const { bytes, ends } = shard([line(0)], [line(1), line(2)], [line(3)])
    for (let at = ends[0] as number; at < (ends[1] as number); at++) {
      const altered = bytes.slice()
      altered[at] = (altered[at] as number) ^ 1
      const scanned = scanShard(altered)
      expect(scanned.damaged, `byte ${at}`).toBe(true)
      expect(scanned.validBytes).toBe(ends[0])
    }
  })

  test("an altered line that still parses does not enter history", () => {
    const { bytes, ends } = shard([line(0)], [line(1, "pay 100")])
    const text = new TextDecoder().decode(bytes).replace("pay 100", "pay 900")
    const scanned = scanShard(new TextEncoder().encode(text))
    expect(scanned.lines.map(({ seq }) => seq)).toEqual([0])
    expect(scanned.validBytes).toBe(ends[0])
  })

  test("of which a base counts more bytes than can be read is a typed error", () => {
    const { bytes, ends } = shard([line(0)], [line(1)])
    expect(scanShard(bytes, ends[0]).lines).toHaveLength(1)
    expect(() => scanShard(bytes, (ends[1] as number) - 1)).toThrow(expect.objectContaining({ code: "storage" }))
    const altered = bytes.slice()
    altered[(ends[0] as number) - 12] = 65
    expect(() => scanShard(altered, ends[1])).toThrow(expect.objectContaining({ code: "storage", retryable: false }))
  })

  test("bytes behind what a base counts are never judged", () => {
    const { bytes, ends } = shard([line(0)], [line(1)])
    expect(scanShard(new Uint8Array([...bytes, 1, 2, 3, 10]), ends[1]).lines).toHaveLength(2)
  })
})
