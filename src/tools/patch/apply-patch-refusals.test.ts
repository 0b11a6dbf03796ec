import { afterAll, describe, expect, test } from "vitest"
import {
  abc,
  asLatin1,
  diff,
  envelope,
  lines,
  PatchScene,
  patch,
  type Tree,
  update,
} from "../../../test/support/patch-scene.ts"

const scene = new PatchScene()
afterAll(() => scene.close())

type Refusal = readonly [name: string, before: Tree, patch: string, code: string, told: string]

const noPatch: readonly Refusal[] = [
  ["white space only", {}, " \n\n", "invalid_input", "The patch is empty."],
  ["prose", {}, "Change a to b, please.", "invalid_input", "This is not a patch"],
  ["an envelope without files", {}, envelope(), "invalid_input", "it does not name a file"],
  ["no first line", { a: abc }, "*** Update File: a\n@@\n-a\n*** End Patch", "invalid_input", "does not start with"],
  ["no last line", { a: abc }, "*** Begin Patch\n*** Delete File: a\n", "invalid_input", "may have been cut off"],
  ["words before it", { a: abc }, `Here:\n${envelope("*** Delete File: a")}`, "invalid_input", '"Here:" precedes'],
  [
    "a command behind it",
    { a: abc },
    `apply_patch <<'EOF'\n${envelope("*** Delete File: a")}EOF\nnpm test\n`,
    "invalid_input",
    '"npm test" follows the patch',
  ],
  ["words behind it", { a: abc }, `${envelope("*** Delete File: a")}Done.`, "invalid_input", '"Done." follows'],
  [
    "another folder",
    { "sub/a": abc },
    `cd sub && apply_patch <<'EOF'\n${envelope("*** Delete File: a")}EOF`,
    "invalid_input",
    "use paths relative to the working directory",
  ],
  [
    "another command",
    { a: abc },
    `apply_patch <<'EOF' && rm a\n${envelope("*** Delete File: a")}EOF`,
    "invalid_input",
    "pass nothing but the patch",
  ],
  [
    "an open here-document",
    { a: abc },
    `apply_patch <<'EOF'\n${envelope("*** Delete File: a")}`,
    "invalid_input",
    'does not end with "EOF"',
  ],
  ["an open code fence", { a: abc }, `\`\`\`\n${envelope("*** Delete File: a")}`, "invalid_input", "not closed"],
  ["one inside another", { a: abc }, envelope("*** Begin Patch"), "invalid_input", "A second"],
]

const badEnvelopes: readonly Refusal[] = [
  ["an unknown verb", { a: abc }, envelope("*** Rename File: a"), "invalid_input", "Line 2 of the patch"],
  ["a file without a name", {}, envelope("*** Add File: ", "+x"), "invalid_input", "does not name a file"],
  ["a move to nowhere", { a: abc }, update("a", "*** Move to:", "@@", "-a"), "invalid_input", "does not name a file"],
  ["an update without a change", { a: abc }, update("a"), "invalid_input", "change"],
  ["a hunk that only looks", { a: abc }, update("a", "@@", " a", " b"), "invalid_input", "adds and removes nothing"],
  ["a header without a hunk", { a: abc }, update("a", "@@ a"), "invalid_input", 'nothing follows "@@ a"'],
  ["a line without a sign", { a: abc }, update("a", "@@", " a", "b", "-c"), "invalid_input", '"b", must start with'],
  ["a new line without its sign", {}, envelope("*** Add File: n", "+x", "y"), "invalid_input", '"y", must start with'],
  ["an old line in a new file", {}, envelope("*** Add File: n", "+x", "-y"), "invalid_input", 'unlike "y"'],
  ["a body under a deletion", { a: abc }, envelope("*** Delete File: a", "-a"), "invalid_input", "must start with"],
  ["a change into the same", { a: abc }, update("a", "@@", "-b", "+b"), "invalid_input", "does not change the file"],
  [
    "two changes that undo each other",
    { a: abc },
    envelope("*** Update File: a", "@@", "-b", "+B", "*** Update File: a", "@@", "-B", "+b"),
    "invalid_input",
    "changes nothing",
  ],
  ["a move to itself", { a: abc }, update("a", "*** Move to: ./a"), "invalid_input", "changes nothing"],
]

const badDiffs: readonly Refusal[] = [
  ["no names", { a: abc }, lines("@@ -1 +1 @@", "-a", "+A"), "invalid_input", "does not name a file"],
  ["names without hunks", { a: abc }, diff("a"), "invalid_input", "change"],
  [
    "the diff of a merge",
    { a: abc },
    lines("diff --git a/a b/a", "--- a/a", "+++ b/a", "@@@ -1,1 -1,1 +1,1 @@@", "--a", "++A"),
    "invalid_input",
    "diff of a merge",
  ],
  [
    "a context diff",
    { a: abc },
    lines("*** a", "--- a", "***************", "*** 1,3 ****", "! a", "--- 1,3 ----", "! A"),
    "invalid_input",
    "context diff",
  ],
  [
    "a binary file of git",
    { a: abc },
    lines("diff --git a/a b/a", "index 1..2", "GIT binary patch", "literal 3"),
    "invalid_input",
    "binary patch",
  ],
  [
    "binary files that differ",
    { a: abc },
    lines("diff --git a/a b/a", "Binary files a/a and b/a differ"),
    "invalid_input",
    "binary patch",
  ],
  [
    "only a mode",
    { a: abc },
    lines("diff --git a/a b/a", "old mode 100644", "new mode 100755"),
    "invalid_input",
    "does not change its text",
  ],
  [
    "a link",
    {},
    lines("diff --git a/l b/l", "new file mode 120000", "--- /dev/null", "+++ b/l", "@@ -0,0 +1 @@", "+/etc/passwd"),
    "invalid_input",
    "link or submodule",
  ],
  [
    "old lines in a new file",
    {},
    lines("--- /dev/null", "+++ b/n", "@@ -1,1 +1,2 @@", " old", "+new"),
    "invalid_input",
    'such as "old"',
  ],
  [
    "a removal that does not know the whole file",
    { a: abc },
    lines("--- a/a", "+++ /dev/null", "@@ -1,2 +0,0 @@", "-a", "-b"),
    "conflict",
    "a has more lines",
  ],
  [
    "an addition whose place is not told",
    { a: abc },
    diff("a", "@@ -1,3 +1,4 @@", "+new"),
    "invalid_input",
    'adds "new" has no existing lines',
  ],
  ["an addition behind the end", { a: abc }, diff("a", "@@ -9,0 +10 @@", "+x"), "invalid_input", "the file has 3"],
  [
    "additions that go back",
    { a: abc },
    diff("a", "@@ -2 +2 @@", "-b", "@@ -1,0 +1 @@", "+x"),
    "invalid_input",
    "before the end of the previous hunk",
  ],
  ["an unclosed quote", {}, lines('--- "a/x', '+++ "b/x', "@@ -1 +1 @@", "-a", "+b"), "invalid_input", "closing quote"],
]

const misfits: readonly Refusal[] = [
  ["a file that is not there", {}, update("a", "@@", "-a"), "not_found", "a does not exist."],
  ["a deletion of nothing", {}, envelope("*** Delete File: a"), "not_found", "a does not exist."],
  ["a diff of what is not there", {}, diff("a", "@@ -1 +1 @@", "-a", "+b"), "not_found", "a does not exist."],
  ["a folder", { "d/a": abc }, update("d", "@@", "-a"), "invalid_input", "d is a folder."],
  ["a new file that exists", { a: abc }, envelope("*** Add File: a", "+x"), "conflict", "a already exists"],
  [
    "a new file of a diff that exists",
    { a: abc },
    lines("--- /dev/null", "+++ b/a", "@@ -0,0 +1 @@", "+x"),
    "conflict",
    "a already exists",
  ],
  ["a move onto a file", { a: abc, b: "b" }, update("a", "*** Move to: b"), "conflict", "b already exists"],
  [
    "a rename onto a file",
    { a: abc, b: "b" },
    lines("diff --git a/a b/b", "rename from a", "rename to b"),
    "conflict",
    "b already exists",
  ],
  ["a new file twice", {}, envelope("*** Add File: a", "+x", "*** Add File: a", "+y"), "conflict", "already exists"],
  [
    "an update of what it deleted",
    { a: abc },
    envelope("*** Delete File: a", "*** Update File: a", "@@", "-a"),
    "not_found",
    "a does not exist.",
  ],
  ["a file below a file", { a: abc }, envelope("*** Add File: a/b", "+x"), "invalid_input", "a/b is below"],
  [
    "a file below another one of the patch",
    {},
    envelope("*** Add File: n", "+x", "*** Add File: n/m", "+y"),
    "invalid_input",
    "n/m is changed twice, or is below",
  ],
  [
    "lines that are not there, with the closest",
    { "a.txt": lines("one", "two", "three") },
    update("a.txt", "@@", " one", "-2", "+II", " three"),
    "not_found",
    'a.txt: the lines "one", "2", "three" are not in the file.\nThe closest lines:\n1\tone\n2\ttwo\n3\tthree',
  ],
  [
    "a second hunk that does not fit",
    { a: abc },
    update("a", "@@", "-a", "@@", "-x"),
    "not_found",
    'a, hunk 2 of 2: the lines "x" are not in the file from line 2 on.',
  ],
  [
    "hunks in the wrong order",
    { a: abc },
    update("a", "@@", "-c", "+C", "@@", "-a", "+A"),
    "not_found",
    'a, hunk 2 of 2: the lines "a" are only at line 1',
  ],
  [
    "a hunk that was applied before",
    { a: lines("a", "B", "c") },
    update("a", "@@", " a", "-b", "+B", " c"),
    "not_found",
    "The result of the hunk is already at line 1.",
  ],
  [
    "an @@ line that is not there",
    { a: lines("def function(x):", "b") },
    update("a", "@@ def function(y):", "-b"),
    "not_found",
    'the line "def function(y):" after "@@" is not in the file.\nThe closest lines:\n1\tdef function(x):',
  ],
  [
    "context that lost a line: none is dropped",
    { a: lines("a", "b", "x", "c") },
    diff("a", "@@ -1,3 +1,2 @@", " a", "-b", " c"),
    "not_found",
    'the lines "a", "b", "c" are not',
  ],
  ["a binary file", { a: Uint8Array.of(97, 0, 10) }, update("a", "@@", "-a"), "invalid_input", "a is a binary file."],
  [
    "a character that the file's encoding lacks",
    { a: Buffer.from("é\nb\n", "latin1") },
    update("a", "@@", "-b", "+☕"),
    "invalid_input",
    "a is in Latin-1",
  ],
  ["what is longhaul's own", {}, envelope("*** Add File: .longhaul/x", "+x"), "denied", "is reserved for longhaul"],
]

describe.each(Object.entries(scene.kinds))("ApplyPatch %s", (_, create) => {
  test.each([...noPatch, ...badEnvelopes, ...badDiffs, ...misfits])(
    "ApplyPatch rejects %s and changes nothing",
    async (_, before, text, code, told) => {
      const outcome = await patch(create(before), text)
      const same = Object.entries(before).map(([path, content]) => [path, asLatin1(content)])
      expect(outcome).toEqual({ told: expect.stringContaining(told), code, after: Object.fromEntries(same) })
    },
  )
})
