import picocolors from "picocolors"
import { expect, test } from "vitest"
import { countAttacks } from "../../../test/support/count-attacks.ts"
import type { Json } from "../../contract/json.ts"
import { memoryFiles } from "../../tools/memory-files.ts"
import { previewCall, previewRows } from "./call-preview.ts"

countAttacks("calls shown for approval")

const tide = "# Tides\n\nHigh water is at 04:17.\nLow water is at 10:32.\n"

/** The rows that a person would see for a call, and the files afterwards. */
async function previewOf(
  name: string,
  args: Json,
  width = 79,
  initial: Readonly<Record<string, string>> = { "tide.txt": tide },
) {
  const files = memoryFiles(initial)
  const lines = await previewCall({ name, args }, { files, cwd: "/" })
  const after = await Promise.all(
    Object.keys(initial).map(async (path) => new TextDecoder().decode(await files.read(path, "/"))),
  )
  expect(after).toEqual(Object.values(initial))
  return previewRows(lines, width, picocolors.createColors(false))
}

test("an Edit call is shown as a line diff, and nothing is written", async () => {
  const args = { path: "tide.txt", oldText: "04:17", newText: "04:29" }
  expect(await previewOf("Edit", args)).toEqual([
    "▸ Edit tide.txt",
    "  # Tides",
    "",
    "- High water is at 04:17.",
    "+ High water is at 04:29.",
    "  Low water is at 10:32.",
  ])
})

test("a MultiEdit call is shown as one diff of all its replacements", async () => {
  const edits = [
    { oldText: "04:17", newText: "04:29" },
    { oldText: "04:29.\nLow water is at 10:32.\n", newText: "04:29" },
  ]
  expect(await previewOf("MultiEdit", { path: "tide.txt", edits })).toEqual([
    "▸ MultiEdit tide.txt",
    "  # Tides",
    "",
    "- High water is at 04:17.",
    "- Low water is at 10:32.",
    "+ High water is at 04:29 (no line feed at the end)",
  ])
})

test("a Write call is shown as a new file, a diff, or no change", async () => {
  expect(await previewOf("Write", { path: "new.txt", content: "one\ntwo\n" })).toEqual([
    "▸ Write new.txt (a new file)",
    "+ one",
    "+ two",
  ])
  expect(await previewOf("Write", { path: "tide.txt", content: tide.replace("10:32", "10:40") })).toContain(
    "+ Low water is at 10:40.",
  )
  expect(await previewOf("Write", { path: "tide.txt", content: tide })).toEqual(["▸ Write tide.txt (changes nothing)"])
})

test("an ApplyPatch call is shown per file: added, changed and deleted", async () => {
  const patch = [
    "*** Begin Patch",
    "*** Add File: new.txt",
    "+hello",
    "*** Update File: tide.txt",
    "@@",
    "-Low water is at 10:32.",
    "+Low water is at 10:40.",
    "*** Delete File: old.txt",
    "*** End Patch",
  ].join("\n")
  expect(await previewOf("ApplyPatch", { patch }, 79, { "tide.txt": tide, "old.txt": "gone\n" })).toEqual([
    "▸ ApplyPatch new.txt (a new file)",
    "+ hello",
    "▸ ApplyPatch tide.txt",
    "  # Tides",
    "",
    "  High water is at 04:17.",
    "- Low water is at 10:32.",
    "+ Low water is at 10:40.",
    "▸ ApplyPatch old.txt (deletes the file)",
    "- gone",
  ])
})

test("an edit that would fail is shown with the reason and its arguments", async () => {
  const rows = await previewOf("Edit", { path: "tide.txt", oldText: "05:00", newText: "x" })
  expect(rows[0]).toMatch(/^▸ Edit will fail: /)
  expect(rows.slice(-5)).toEqual([
    "  {",
    '    "path": "tide.txt",',
    '    "oldText": "05:00",',
    '    "newText": "x"',
    "  }",
  ])
})

test("a Bash call is shown with its whole command and its other arguments", async () => {
  const args = { command: "cat <<END\nx\nEND", background: true }
  expect(await previewOf("Bash", args)).toEqual([
    "▸ Bash in /",
    "$ cat <<END",
    "> x",
    "> END",
    "  {",
    '    "background": true',
    "  }",
  ])
})

test("a call of any other tool is shown with its arguments", async () => {
  expect(await previewOf("Send", { to: "the harbour" })).toEqual(["▸ Send", "  {", '    "to": "the harbour"', "  }"])
})

test("no row exceeds the width and continued rows are marked, so that no text can imitate a row", async () => {
  const rows = await previewOf("Bash", { command: `echo ${"x".repeat(30)}   rm -rf /` }, 20)
  expect(rows).toEqual(
    ["▸ Bash in /", "$ echo xxxxxxxxxxxxx", "↳ xxxxxxxxxxxxxxxxx ", "↳   rm -rf /"].map((row) => row.trimEnd()),
  )
  expect(rows.every((row) => row.length <= 20)).toBe(true)
})

test.each([
  ["a line feed in a name", { path: "a\n▸ Write b.txt", content: "" }, "▸ Write a␊▸ Write b.txt (a new file)"],
  ["a carriage return", { path: "a.txt", content: "rm -rf /\recho hello\n" }, "+ rm -rf /␍echo hello"],
  ["a line end of its own", { path: "a.txt", content: "one\r\n" }, "+ one␍"],
  ["a tab", { path: "a.txt", content: "\tx\n" }, "+ ␉x"],
  ["an escape", { path: "a.txt", content: "\u001b[2Jx\n" }, "+ ␛[2Jx"],
  ["a direction mark", { path: "a.txt", content: "a\u202eb\n" }, "+ a\ufffdb"],
  ["a zero-width space", { path: "a.txt", content: "a\u200bb\n" }, "+ a\ufffdb"],
  ["a tag character", { path: "a.txt", content: "a\u{e0041}b\n" }, "+ a\ufffdb"],
  ["a line separator", { path: "a.txt", content: "a\u2028- b\n" }, "+ a\ufffd- b"],
])("%s is made visible in an approval", async (_, args, row) => {
  expect(await previewOf("Write", args)).toContain(row)
})

test("a change of the encoding alone is shown as a change", async () => {
  const files = memoryFiles({ "a.txt": new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0x0a]) })
  const lines = await previewCall({ name: "Write", args: { path: "a.txt", content: "a\n" } }, { files, cwd: "/" })
  expect(lines.map(({ text }) => text)).toEqual(["Write a.txt (changes the encoding only)"])
})
