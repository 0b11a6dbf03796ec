import fc from "fast-check"
import { expect, test } from "vitest"
import { memory, patch } from "../../../test/support/patch-scene.ts"
import { decodeText, encodeText, type TextEncoding } from "../../lib/text-file.ts"

/** A line of a file with its line ending. */
interface Line {
  readonly text: string
  readonly end: string
}

interface Operation {
  readonly kind: " " | "-" | "+"
  readonly line: Line
}

const encodings: readonly TextEncoding[] = ["utf-8", "utf-8-bom", "utf-16le", "utf-16be", "latin1"]

/** Lines that a careless patch parser misinterprets. */
const tricky = ["", " ", "\t", "*** End Patch", "*** End of File", "@@", "@@ -1 +1 @@", "-- x", "--- a/x", "+x"]
const trickier = [
  "\\ No newline at end of file",
  "diff --git a/x b/x",
  "EOF",
  "```",
  "a\rb",
  "x",
  "x ",
  " x",
  "“x”",
  "x",
]

function textsFor(encoding: TextEncoding): fc.Arbitrary<string> {
  const unit =
    encoding === "latin1" ? fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)) : undefined
  const random = fc.string({ unit: unit ?? "grapheme", maxLength: 8 })
  const known = fc.constantFrom(...tricky, ...trickier)
  return fc.oneof({ weight: 3, arbitrary: known }, random).filter((text) => {
    const isPlain = !/[\n\0\ufeff]|\r$|^\+\+ /.test(text)
    return isPlain && (encoding !== "latin1" || Array.from(text).every((each) => each <= "\xff"))
  })
}

interface Edit {
  readonly encoding: TextEncoding
  readonly operations: readonly Operation[]
}

/** A file and the change of each of its lines. `ends`: possible line endings; `open`: the last may lack one. */
function edits(ends: readonly string[], open: boolean): fc.Arbitrary<Edit> {
  return fc.constantFrom(...encodings).chain((encoding) => {
    const operation = fc.record({
      kind: fc.constantFrom<Operation["kind"]>(" ", " ", " ", "-", "+"),
      line: fc.record({ text: textsFor(encoding), end: fc.constantFrom(...ends) }),
    })
    const isOpen = open ? fc.boolean() : fc.constant(false)
    return fc
      .record({ operations: fc.array(operation, { maxLength: 25 }), oldOpen: isOpen, newOpen: isOpen })
      .map(({ operations, oldOpen, newOpen }) => ({
        encoding,
        // Invalid UTF-8 makes it Latin-1.
        operations: openEnds(
          encoding === "latin1"
            ? [{ kind: " ", line: { text: "\xe9", end: ends[0] ?? "" } }, ...operations]
            : operations,
          oldOpen,
          newOpen,
        ),
      }))
  })
}

/** The last line of either side may lack its line ending: a line that is last on one side only then changes. */
function openEnds(operations: readonly Operation[], oldOpen: boolean, newOpen: boolean): readonly Operation[] {
  const lastOld = operations.findLastIndex(({ kind }) => kind !== "+")
  const lastNew = operations.findLastIndex(({ kind }) => kind !== "-")
  return operations.flatMap((operation, index): Operation[] => {
    const { kind, line } = operation
    const old: Operation = {
      kind: "-",
      line: oldOpen && index === lastOld && line.text !== "" ? { ...line, end: "" } : line,
    }
    const made: Operation = {
      kind: "+",
      line: newOpen && index === lastNew && line.text !== "" ? { ...line, end: "" } : line,
    }
    if (kind === "-") return [old]
    if (kind === "+") return [made]
    return old.line.end === made.line.end ? [{ kind, line: old.line }] : [old, made]
  })
}

const side = (operations: readonly Operation[], without: "-" | "+") =>
  operations
    .filter(({ kind }) => kind !== without)
    .map(({ line }) => line.text + line.end)
    .join("")

/** Applies it through the tool, on bytes, and compares the result with the other side of the edit. */
async function check({ operations, encoding }: Edit, text: string, expected: string): Promise<void> {
  const before = encodeText({ text: side(operations, "+"), encoding })
  const after = encodeText({ text: expected, encoding })
  fc.pre(before !== undefined && decodeText(before)?.encoding === encoding && side(operations, "+") !== expected)
  const outcome = await patch(memory({ f: before ?? "" }), text)
  expect(outcome).toEqual({ told: "M f", code: "ok", after: { f: Buffer.from(after ?? "").toString("latin1") } })
}

/** As `diff -U<context>` would write it: hunks with numbers, and missing final newlines. */
function toUnified(operations: readonly Operation[], context: number, shows: (line: Line) => string): string {
  const near = operations.map((_, index) =>
    operations.slice(Math.max(0, index - context), index + context + 1).some(({ kind }) => kind !== " "),
  )
  const text = ["--- a/f", "+++ b/f"]
  for (let at = 0; at < operations.length; at++) {
    if (!near[at]) continue
    const end = near.indexOf(false, at) === -1 ? operations.length : near.indexOf(false, at)
    const hunk = operations.slice(at, end)
    const count = (list: readonly Operation[], without: string) => list.filter(({ kind }) => kind !== without).length
    const range = (without: string) => {
      const length = count(hunk, without)
      const before = count(operations.slice(0, at), without)
      return `${length === 0 ? before : before + 1},${length}`
    }
    text.push(`@@ -${range("+")} +${range("-")} @@`)
    for (const { kind, line } of hunk) {
      text.push(kind + shows(line))
      if (line.end === "") text.push("\\ No newline at end of file")
    }
    at = end
  }
  return `${text.join("\n")}\n`
}

/** Hunks that start where the previous one ends, so that only one position matches. */
function toEnvelope(operations: readonly Operation[], cuts: ReadonlySet<number>): string {
  const hunks: Operation[][] = [[]]
  for (const [index, operation] of operations.entries()) {
    const hunk = hunks.at(-1) ?? []
    const isWhole = hunk.some(({ kind }) => kind !== " ") && hunk.some(({ kind }) => kind !== "+")
    if (isWhole && cuts.has(index) && operation.kind !== "+") hunks.push([operation])
    else hunk.push(operation)
  }
  const isChange = (hunk: readonly Operation[]) => hunk.some(({ kind }) => kind !== " ")
  const bodies = hunks.filter(isChange).map((hunk) => hunk.map(({ kind, line }) => `${kind}${line.text}\n`).join(""))
  return `*** Begin Patch\n*** Update File: f\n${bodies.map((body) => `@@\n${body}`).join("")}*** End Patch\n`
}

test("applying a unified diff of any two texts turns one into the other, byte for byte", async () => {
  for (const end of ["\n", "\r\n"]) {
    await fc.assert(
      fc.asyncProperty(edits([end], true), fc.integer({ min: 0, max: 4 }), async (edit, context) => {
        // A text without line endings does not determine those of the others.
        fc.pre(end === "\n" || side(edit.operations, "+").includes(end))
        const text = toUnified(edit.operations, context, ({ text }) => text)
        await check(edit, text, side(edit.operations, "-"))
      }),
      { numRuns: 600 },
    )
  }
})

test("a unified diff with explicit line endings keeps mixed ones, byte for byte", async () => {
  await fc.assert(
    fc.asyncProperty(edits(["\n", "\r\n"], false), fc.integer({ min: 0, max: 4 }), async (edit, context) => {
      const text = toUnified(edit.operations, context, ({ text, end }) => text + end.replace("\n", ""))
      // Without any hint, the line endings around a change decide.
      fc.pre(text.includes("\r\n"))
      await check(edit, text, side(edit.operations, "-"))
    }),
    { numRuns: 600 },
  )
})

test("a patch in the envelope format produces the new text and keeps line endings and the final newline", async () => {
  for (const end of ["\n", "\r\n"]) {
    const cuts = fc.uniqueArray(fc.nat({ max: 25 })).map((each) => new Set(each))
    await fc.assert(
      fc.asyncProperty(edits([end], false), cuts, fc.boolean(), async (edit, cuts, open) => {
        // If the old text lacks its final newline, the new one does.
        const old = openEnds(edit.operations, open, false).filter(({ kind }) => kind !== "+")
        const isOpen = old.at(-1)?.line.end === ""
        const made = side(edit.operations, "-")
        const operations = isOpen ? old.map(({ line }): Operation => ({ kind: "-", line })) : edit.operations
        const expected = isOpen ? made.slice(0, made.length - (made === "" ? 0 : end.length)) : made
        fc.pre(end === "\n" || side(operations, "+").includes(end))
        await check({ ...edit, operations }, toEnvelope(edit.operations, cuts), expected)
      }),
      { numRuns: 600 },
    )
  }
})

test("any corrupted patch is applied or rejected with a reason, and then changes nothing", async () => {
  const blocks = [
    "*** Begin Patch\n*** Update File: f\n@@ x\n a\n-b\n+c\n*** End of File\n*** Add File: g\n+x\n*** Delete File: h\n*** End Patch",
    "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n x\n-a\n+c\n\\ No newline at end of file\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+y",
    "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n--- a/h\n+++ /dev/null\n@@ -1 +0,0 @@\n-h",
    "```\napply_patch <<'EOF'\nEOF\n```\n*** Move to: m\n@@\n@@@\n--- \n+++ \nGIT binary patch\nnew mode 100755\n\"",
  ].map((block) => block.split("\n"))
  const piece = fc.constantFrom(...blocks.flat())
  const whole = fc.constantFrom(...blocks)
  const text = fc
    .array(
      fc.oneof(
        whole,
        whole,
        piece.map((line) => [line]),
      ),
      { maxLength: 6 },
    )
    .chain((parts) =>
      fc.array(fc.tuple(fc.nat(), fc.oneof(piece, fc.constant(undefined))), { maxLength: 4 }).map((spoilt) => {
        const lines = parts.flat()
        for (const [at, line] of spoilt) lines.splice(at % (lines.length + 1), 1, ...(line === undefined ? [] : [line]))
        return lines.join("\n")
      }),
    )
  const before = { f: "x\na\nb\n", h: "h\n" }
  const codes = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(text, async (patchText) => {
      fc.pre(patchText !== "")
      const { code, told, after } = await patch(memory(before), patchText)
      codes.set(code, (codes.get(code) ?? 0) + 1)
      expect(["ok", "invalid_input", "not_found", "conflict"]).toContain(code)
      expect(told).not.toBe("")
      if (code === "ok") expect(after).not.toEqual(before)
      else expect(after).toEqual(before)
    }),
    { numRuns: 2000 },
  )
  // Both cases really occurred.
  expect([...codes.keys()]).toEqual(expect.arrayContaining(["ok", "invalid_input"]))
})
