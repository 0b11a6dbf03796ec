import { describe, expect, test } from "vitest"
import { concatBytes } from "../lib/bytes.ts"
import { crc32 } from "../lib/crc32.ts"
import { FlushLines } from "./flush-lines.ts"
import { scanShard } from "./shard.ts"

const header = JSON.stringify({ v: 1, writer: "w", base: null })

/** A shard of one header and the given flushes, with the offset at which each flush ends. */
function shard(...flushes: string[][]): { bytes: Uint8Array; ends: number[] } {
  const parts: Uint8Array[] = []
  const ends: number[] = []
  flushes.forEach((lines, index) => {
    const from = ends.at(-1) ?? 0
    const flush = flushOf(index === 0 ? [header, ...lines] : lines, from)
    parts.push(flush)
    ends.push(from + flush.length)
  })
  return { bytes: concatBytes(parts), ends }
}

function flushOf(lines: readonly string[], from = 0): Uint8Array {
  const flush = new FlushLines()
  for (const line of lines) flush.add(line)
  return flush.sealed(from)
}

const line = (seq: number, text = "x") => JSON.stringify({ seq, type: "note", text })

describe("a shard", () => {
  test("a shard returns the lines of its complete flushes", () => {
    const { bytes } = shard([line(0)], [line(1), line(2, 'ünïcode\n{},"end":"0.00000000"}')])
    const scanned = scanShard(bytes)
    expect(scanned.header).toMatchObject({ v: 1, writer: "w", base: null })
    expect(scanned.lines.map(({ seq }) => seq)).toEqual([0, 1, 2])
    expect(scanned.lines[2]?.text).toBe('ünïcode\n{},"end":"0.00000000"}')
    expect(scanned.validBytes).toBe(bytes.length)
    expect(scanned.damaged).toBe(false)
  })

  test.each(["x", "é", "☕"])(
    "a shard in reused memory is complete for any length and characters (%s)",
    (character) => {
      const flush = new FlushLines()
      for (let length = 0; length < 1400; length += 1) {
        flush.clear()
        flush.add(line(0, character.repeat(length / 3)))
        flush.add(line(1, character.repeat(length)))
        const bytes = flush.sealed(0, header)
        const { lines, validBytes } = scanShard(bytes)
        expect(validBytes, `${length} × ${character}`).toBe(bytes.length)
        expect(lines).toMatchObject([{ seq: 0 }, { seq: 1, text: character.repeat(length) }])
      }
    },
  )

  test("sealing a shard is deterministic, whether the header comes first or was its first line", () => {
    const flush = new FlushLines()
    flush.add(line(0))
    flush.add(line(1))
    const first = flush.sealed(0, header).slice()
    flush.sealed(70)
    expect(flush.sealed(0, header)).toEqual(first)
    expect(flushOf([header, line(0), line(1)])).toEqual(first)
  })

  test("a shard keeps no more memory than small flushes need", () => {
    const flush = new FlushLines()
    flush.add(line(0, "x".repeat(1_000_000)))
    flush.clear()
    flush.add(line(0))
    expect(flush.sealed(0).buffer.byteLength).toBeLessThan(2048)
  })

  test.each(["x", "é", "☕"])("a shard longer than one read returns every line (%s)", (character) => {
    // Flushes of all sizes, up to more than two reads, so that reads end at any position in them.
    const lengths = [...Array.from({ length: 97 }, (_, index) => 1000 * index), 9_000_000, 10, 4_200_000, 10]
    const texts = lengths.map((length) => character.repeat(length / new TextEncoder().encode(character).length))
    const { bytes } = shard([], ...texts.map((text, seq) => [line(2 * seq), line(2 * seq + 1, text)]))
    const scanned = scanShard(bytes)
    expect(scanned.validBytes).toBe(bytes.length)
    expect(scanned.lines.map(({ seq }) => seq)).toEqual(Array.from({ length: 2 * lengths.length }, (_, seq) => seq))
    const read = scanned.lines.filter((_, at) => at % 2 === 1).map(({ text }) => text)
    expect(read.every((text, at) => text === texts[at])).toBe(true)
  })

  test('a key named "end" is not mistaken for a flush mark', () => {
    const last = JSON.stringify({ seq: 1, args: { from: 0, end: "0.00000000" } })
    const inside = JSON.stringify({ seq: 2, args: { from: 0, end: "0.00000000" }, more: [{ a: 1, end: "0.00000000" }] })
    const { bytes } = shard([line(0)], [last, inside, last])
    expect(scanShard(bytes)).toMatchObject({ validBytes: bytes.length, damaged: false })
    expect(scanShard(bytes).lines.map(({ seq }) => seq)).toEqual([0, 1, 2, 1])
  })

  test("a flush with an invalid JSON line does not count, whatever its mark", () => {
    const { bytes, ends } = shard([line(0)], [line(1), "{broken}", line(2)], [line(3)])
    const scanned = scanShard(bytes)
    expect(scanned.lines.map(({ seq }) => seq)).toEqual([0])
    expect(scanned).toMatchObject({ validBytes: ends[0], damaged: true })
    expect(scanShard(bytes.subarray(0, ends[1]))).toMatchObject({ validBytes: ends[0], damaged: false })
  })

  test("a shard cut at any byte keeps exactly its complete flushes and reports no damage", () => {
    const { bytes, ends } = shard([line(0)], [line(1, "é☕"), line(2)], [line(3, "☕")])
    for (let cut = 0; cut <= bytes.length; cut++) {
      const scanned = scanShard(bytes.subarray(0, cut))
      const whole = ends.filter((end) => end <= cut).at(-1) ?? 0
      expect(scanned.validBytes).toBe(whole)
      expect(scanned.header === null).toBe(whole === 0)
      expect(scanned.damaged).toBe(false)
    }
  })

  test("a shard with any altered byte in an earlier flush is damaged", () => {
    const { bytes, ends } = shard([line(0)], [line(1, "é☕\ufffd"), line(2)], [line(3)])
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

  test("a base that counts more bytes than are readable is a typed error", () => {
    const { bytes, ends } = shard([line(0)], [line(1)])
    expect(scanShard(bytes, ends[0]).lines).toHaveLength(1)
    expect(() => scanShard(bytes, (ends[1] as number) - 1)).toThrow(expect.objectContaining({ code: "storage" }))
    const altered = bytes.slice()
    altered[(ends[0] as number) - 12] = 65
    expect(() => scanShard(altered, ends[1])).toThrow(expect.objectContaining({ code: "storage", retryable: false }))
  })

  test("a long shard is checked by the host's CRC-32 where the store brings one, and by ours where it does not", () => {
    const { bytes } = shard([line(0, "x".repeat(600 * 1024))], [line(1)])
    const ranges: number[] = []
    const hostCrc32 = (given: Uint8Array, start: number, end: number) => {
      ranges.push(end - start)
      return crc32(given, start, end)
    }
    expect(scanShard(bytes, undefined, undefined, hostCrc32)).toEqual(scanShard(bytes))
    expect(ranges).toHaveLength(2)
    expect(scanShard(bytes, undefined, undefined, () => 0).lines).toEqual([])
  })

  test("bytes after those counted by a base are never checked", () => {
    const { bytes, ends } = shard([line(0)], [line(1)])
    expect(scanShard(new Uint8Array([...bytes, 1, 2, 3, 10]), ends[1]).lines).toHaveLength(2)
  })
})
