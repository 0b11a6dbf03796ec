import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { whyTooLarge } from "../src/lib/schema/argument-size.ts"
import { titlesIn } from "./support/test-titles.ts"

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8")
const security = read("SECURITY.md").replace(/\s+/g, " ")
const manifest = JSON.parse(read("package.json"))
const numbers = [
  "zero",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
]

test("SECURITY.md states the number of dependencies and that there are no install scripts, and is in the package", () => {
  const count = Object.keys(manifest.dependencies).length
  expect(security).toContain(`no install scripts and ${numbers[count]} dependencies`)
  expect(Object.keys(manifest.scripts).filter((name) => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([])
  expect(manifest.files).toContain("SECURITY.md")
})

test("SECURITY.md states the limits of arguments", () => {
  const [, members = "", characters = ""] =
    /more than ([\d,]+) keys and entries, or (\d+) Mi characters/.exec(security) ?? []
  const most = Number(members.replace(",", ""))
  expect(whyTooLarge(Array(most).fill(1))).toBeUndefined()
  expect(whyTooLarge(Array(most + 1).fill(1))).toBeDefined()
  expect(whyTooLarge("x".repeat(Number(characters) * 1024 * 1024))).toBeUndefined()
  expect(whyTooLarge("x".repeat(Number(characters) * 1024 * 1024 + 1))).toBeDefined()
})

/** Sentences of SECURITY.md, or parts of them, and the test that shows each. */
const claims: readonly (readonly [sentence: string, file: string, test: string])[] = [
  [
    "must end inside a root; on Linux the check is repeated on the opened file descriptor",
    "src/hosts/node/files/files-race.test.ts",
    "reads never return outside content",
  ],
  [
    "The rules are evaluated again when a call begins",
    "test/link-attacks.test.ts",
    "a link that another call of the turn makes to %s",
  ],
  [
    "A link that another process changes continuously reaches nothing",
    "test/flipping-links.test.ts",
    "a link that flips between an open and a denied folder",
  ],
  [
    "it is invisible to file tools, searches and sandboxed commands",
    "src/hosts/node/store/hidden-store.test.ts",
    "the run works, and no tool finds the store in any spelling",
  ],
  [
    "Commands without a sandbox are rejected in that case",
    "src/hosts/node/store/hidden-store.test.ts",
    "commands without a sandbox are rejected if their folder contains the store",
  ],
  [
    "readable by their user only (0600, folders 0700)",
    "src/stores/store-conformance.test.ts",
    "files have mode 0600 and folders 0700",
  ],
  ["no id can escape its workspace", "test/promises/layout.test.ts", "no id escapes its workspace"],
  [
    "are keyed by a digest of the workspace and of an id inside the store, which reveals neither",
    "test/tenants.test.ts",
    "%s belongs to one tenant",
  ],
  [
    "Knowledge bases on disk follow no symbolic link out of their base",
    "src/hosts/node/store/linked-out.test.ts",
    "a store confined to a folder reads and lists no symbolic link",
  ],
  [
    "those of other runs and workspaces cannot",
    "src/hosts/node/store/tenants.test.ts",
    "command output is invisible to %s",
  ],
  ["its intent is durable", "src/run/calls/own-calls.test.ts", "the intent is durable before the call may run"],
  ["keys and entries, or 16 Mi characters, are dropped", "test/large-arguments.test.ts", "a call with %s is refused"],
  [
    "identified by its ticket",
    "src/run/resume.test.ts",
    "a decision with the ticket of another question is stale and changes nothing",
  ],
  ["and not to a fork of the run", "test/approval-replays.test.ts", "an approval that a fork copied"],
  [
    "with control and invisible characters made visible",
    "src/cli/format.test.ts",
    "invisible characters are made visible",
  ],
  [
    "Input typed before the question is ignored",
    "src/cli/approval/inline-approval.test.ts",
    "input typed before the question does not approve the call",
  ],
  [
    "a file that changed in the meantime is asked about again",
    "src/cli/approval/inline-approval.test.ts",
    "a call is asked about again if its file changed",
  ],
  ["becomes a bounded result", "src/runtime/runtime.test.ts", "tools that throw, return invalid values"],
  [
    "The tool's author sees it with `hooks.toolError` and in the log at `debug`",
    "src/run/calls/tool-exceptions.test.ts",
    "a tool's exception appears only in toolError and at debug",
  ],
  ["exceeded by one call at most", "src/run/state/ledger.test.ts", "no limit is exceeded by more than one call"],
  [
    "Grep uses RE2, which does not backtrack",
    "src/lib/text/re2-syntax.test.ts",
    "is refused for the reason of the engine",
  ],
  [
    "Patterns in schemas of models, MCP servers and OpenAPI documents run in RE2",
    "test/hostile-schemas.test.ts",
    "is checked in linear time as a pattern of texts",
  ],
  ["stops after 20 pages", "src/tools/read/read-pdf.test.ts", "a PDF with many pages is read in parts"],
  [
    "A patch is applied completely or not at all",
    "src/tools/patch/apply-patch-whole.test.ts",
    "one failing hunk prevents the whole patch",
  ],
  [
    "reject private, local and reserved addresses in every known spelling",
    "src/hosts/node/http/guarded-fetch-refusals.test.ts",
    "non-public addresses are rejected in every spelling",
  ],
  [
    "resolve a name once and connect to the address that was checked",
    "src/hosts/node/http/guarded-fetch.test.ts",
    "the checked address is the connected one",
  ],
  ["redirects are not followed", "src/webhooks/settings.test.ts", "webhooks do not follow redirects"],
  [
    "looked up at each attempt and never stored with the run",
    "src/webhooks/settings.test.ts",
    "secrets are looked up at sending time",
  ],
  [
    "requires a bearer token for every request",
    "src/hosts/node/mcp/sessions.test.ts",
    "a server without a token is rejected",
  ],
  [
    "It becomes `{{secret:NAME}}`",
    "src/policy/redact/redactor.test.ts",
    "is masked at every offset, and nothing of it is left",
  ],
  [
    "Undeclared tokens of 42 known formats",
    "src/policy/redact/token-formats.test.ts",
    "a token of the format %s is masked as a whole",
  ],
  [
    "is escaped and never expanded",
    "src/policy/redact/redactor.test.ts",
    "a literal reference is escaped when it enters and never expanded",
  ],
  [
    "`production` or `us-east-1` in the settings of an MCP server are ordinary text",
    "test/masked-words.test.ts",
    "a file that a model reads and writes back is the same, byte for byte",
  ],
  [
    "a bubblewrap sandbox that passed its self-test",
    "test/machine/sandbox.test.ts",
    "the sandbox passes its self-test",
  ],
  [
    "and rejects a sandbox in which one succeeds",
    "test/machine/sandbox-escapes.test.ts",
    "the sandbox self-test rejects a bubblewrap",
  ],
  [
    "It cannot enable Bash, remove a sandbox, an approval or a limit",
    "test/found-files.test.ts",
    "a config file that was found and not named",
  ],
  [
    "refuses `run`, `chat` and `resume` until it is named once",
    "src/cli/config/planted.test.ts",
    "a planted file is used once the user names it",
  ],
  [
    "so does one that has been removed since",
    "test/found-files.test.ts",
    "looking for a named config that is gone is refused, until the user does without it once",
  ],
  [
    "act on a journal only if the store is yours",
    "src/cli/config/attacks.test.ts",
    "a run is not continued if only --config names its store",
  ],
  [
    "a process that can make one to a refused file can read the file under the new name",
    "test/machine/sandbox-rules.test.ts",
    "hard links that exist before are a known limit",
  ],
]

test.each(claims)("SECURITY.md: %s", (sentence, file, title) => {
  expect(security).toContain(sentence)
  expect(titlesIn(file).filter((each) => each.includes(title))).not.toEqual([])
})

test("every protection in SECURITY.md has a test that shows a part of it", () => {
  const protections =
    read("SECURITY.md")
      .split("## Protections")[1]
      ?.split("\n## ")[0]
      ?.split(/\n(?=\*\*)/)
      .slice(1) ?? []
  expect(protections.length).toBeGreaterThan(10)
  const shown = protections.map((each) => each.replace(/\s+/g, " "))
  // Keys: the dependencies and scripts, above.
  const unproven = shown.filter((each) => !each.startsWith("**Keys**") && !claims.some(([part]) => each.includes(part)))
  expect(unproven.map((each) => each.slice(0, 60))).toEqual([])
})
