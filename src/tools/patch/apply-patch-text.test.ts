import { describePatches, diff, envelope, lines, type PatchCase, update } from "../../../test/support/patch-scene.ts"

const ends: readonly PatchCase[] = [
  {
    name: "gives new lines the line end of the file",
    before: { a: "a\r\nb\r\nc\r\n" },
    patch: update("a", "@@", " a", "-b", "+B", "+B2"),
    after: { a: "a\r\nB\r\nB2\r\nc\r\n" },
    told: "M a",
  },
  {
    name: "keeps mixed line ends, and follows those around the change",
    before: { a: "a\r\nb\nc\r\nd\n" },
    patch: update("a", "@@", " a", "+a2", " b", "+b2"),
    after: { a: "a\r\na2\r\nb\nb2\nc\r\nd\n" },
    told: "M a",
  },
  {
    name: "takes the line ends of a patch that tells them apart",
    before: { a: "a\r\nb\r\nc\r\n" },
    patch: "--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n a\r\n-b\r\n+b\n+B\r\n c\r\n",
    after: { a: "a\r\nb\nB\r\nc\r\n" },
    told: "M a",
  },
  {
    name: "keeps a missing line end at the end: where the last line changes",
    before: { a: "a\nb" },
    patch: update("a", "@@", "-b", "+B"),
    after: { a: "a\nB" },
    told: "M a",
  },
  {
    name: "keeps a missing line end at the end: where a line is added behind it",
    before: { a: "a\r\nb" },
    patch: update("a", "@@", "+c"),
    after: { a: "a\r\nb\r\nc" },
    told: "M a",
  },
  {
    name: "keeps a missing line end at the end: where the last line goes",
    before: { a: "a\nb" },
    patch: update("a", "@@", " a", "-b"),
    after: { a: "a" },
    told: "M a",
  },
  {
    name: "adds the line end that a diff says the new file has",
    before: { a: "a\nb" },
    patch: diff("a", "@@ -1,2 +1,2 @@", " a", "-b", "\\ No newline at end of file", "+b"),
    after: { a: "a\nb\n" },
    told: "M a",
  },
  {
    name: "removes the line end that a diff says the new file lacks",
    before: { a: "a\nb\n" },
    patch: diff("a", "@@ -1,2 +1,2 @@", " a", "-b", "+B", "\\ No newline at end of file"),
    after: { a: "a\nB" },
    told: "M a",
  },
  {
    name: "keeps the line end that a diff says both lack",
    before: { a: "a\nb" },
    patch: diff("a", "@@ -1,2 +1,3 @@", "+0", " a", " b", "\\ No newline at end of file"),
    after: { a: "0\na\nb" },
    told: "M a",
  },
  {
    name: "creates a file without a line end at its end",
    before: {},
    patch: lines("--- /dev/null", "+++ b/a", "@@ -0,0 +1 @@", "+a", "\\ No newline at end of file"),
    after: { a: "a" },
    told: "A a",
  },
  {
    name: "fills an empty file and empties another",
    before: { a: "", b: "x" },
    patch: envelope("*** Update File: a", "@@", "+a", "*** Update File: b", "@@", "-x"),
    after: { a: "a\n", b: "" },
    told: "M a\nM b",
  },
  {
    name: "keeps the mark at the beginning, also where the patch shows it",
    before: { a: "\ufeffusing A;\nb\n" },
    patch: diff("a", "@@ -1,2 +1,2 @@", "-\ufeffusing A;", "+\ufeffusing B;", " b"),
    after: { a: "\ufeffusing B;\nb\n" },
    told: "M a",
  },
  {
    name: "keeps UTF-16",
    before: { a: Buffer.from("\ufeffä\r\nb\r\n", "utf16le") },
    patch: update("a", "@@", " ä", "-b", "+ü"),
    after: { a: Buffer.from("\ufeffä\r\nü\r\n", "utf16le") },
    told: "M a",
  },
  {
    name: "keeps Latin-1",
    before: { a: Buffer.from("é\nb\n", "latin1") },
    patch: update("a", "@@", " é", "-b", "+ü"),
    after: { a: Buffer.from("é\nü\n", "latin1") },
    told: "M a",
  },
]

describePatches("ApplyPatch and the bytes of text,", ends)
