import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addDocuments } from "../../../test/knowledge/place.ts"
import { countAttacks } from "../../../test/support/count-attacks.ts"
import type { Store } from "../../contract/store.ts"
import { type Tool, ToolError } from "../../contract/tool.ts"
import { fsStore } from "../../hosts/node/store/fs-store.ts"
import { memoryStore } from "../../stores/memory.ts"
import { createToolContext } from "../../tools/kernel/tool-context.ts"
import {
  createReadKnowledgeTool,
  createSearchKnowledgeTool,
  knowledge,
  openKnowledge,
  writeKnowledgeIndex,
} from "./index.ts"

const SECRET = "sentinel-that-no-model-may-read"
const root = mkdtempSync(join(tmpdir(), "longhaul-knowledge-attacks-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))
countAttacks("references that leave their knowledge base")

/** The run may read `open` and `mixed/public`, and nothing else. */
async function place(store: Store): Promise<readonly Tool[]> {
  const bytes = new TextEncoder().encode(SECRET)
  await addDocuments(store, {
    "open/a.md": "# Open\n\nFor everybody.\n\n[[../closed/secret]] [[/etc/passwd]] [[closed/secret]]\n",
    "open/.hidden.md": SECRET,
    "open/_index.json": JSON.stringify({ version: 0, files: [], minisearch: {}, note: SECRET }),
    "closed/secret.md": SECRET,
    "mixed/public/b.md": "# Public\n\nAlso for everybody.\n",
    "mixed/private/secret.md": SECRET,
    "mixed/secret.md": SECRET,
    "mixed/publicity/secret.md": SECRET,
    "secret.md": SECRET,
  })
  await addDocuments(store, { "open/secret.md": SECRET }, "other")
  await store.folder("workspaces/default/.longhaul/projects/r").replace("secret.md", bytes)
  await store.folder("workspaces/default").replace("secret.md", bytes)
  await store.folder("").replace("secret.md", bytes)
  const library = await openKnowledge({ store, folders: ["open", "mixed/public"] })
  return [createReadKnowledgeTool(library), createSearchKnowledgeTool(library)]
}

const stores = { memory: memoryStore, disk: () => fsStore(join(root, "store")) }
const tools: Record<string, readonly Tool[]> = {}
beforeAll(async () => {
  for (const [name, make] of Object.entries(stores)) tools[name] = await place(make())
})

const hidden = "open/\u200ba.md"
const attacks: readonly (readonly [string, string])[] = [
  ["an absolute path", "/etc/passwd"],
  ["an absolute path in the store", "/workspaces/default/secret.md"],
  ["an absolute path of Windows", "C:\\Windows\\win.ini"],
  ["a network path", "//host/share/secret.md"],
  ["a file URL", "file:///etc/passwd"],
  ["a web address", "https://example.com/secret.md"],
  ["the folder above", "../secret.md"],
  ["the folder above the base", "open/../closed/secret.md"],
  ["the folder above twice", "open/../../secret.md"],
  ["another workspace", "open/../../../other/knowledge/open/secret.md"],
  ["the folder above at the end", "open/.."],
  ["backslashes", "open\\..\\closed\\secret.md"],
  ["a mixture of slashes", "open/..\\closed/secret.md"],
  ["percent-encoded dots", "open/%2e%2e/closed/secret.md"],
  ["percent-encoded slashes", "open%2f..%2fclosed%2fsecret.md"],
  ["doubly encoded dots", "open/%252e%252e/closed/secret.md"],
  ["overlong UTF-8 as text", "open/%c0%ae%c0%ae/closed/secret.md"],
  ["fullwidth dots", "open/\uff0e\uff0e/closed/secret.md"],
  ["a two dot leader", "open/\u2025/closed/secret.md"],
  ["a division slash", "open\u2215..\u2215closed\u2215secret.md"],
  ["a fullwidth slash", "open\uff0f..\uff0fclosed/secret.md"],
  ["a zero byte", "open/a.md\0.txt"],
  ["a zero byte before the dots", "open/\0../closed/secret.md"],
  ["a line break", "open/a.md\n/../../closed/secret.md"],
  ["a carriage return", "open/a.md\rsecret"],
  ["a tab", "open/\ta.md"],
  ["an invisible character", hidden],
  ["a change of the writing direction", "open/\u202ea.md"],
  ["an escape sequence", "open/\u001b[2Ja.md"],
  ["a dot folder", "open/./a.md"],
  ["a double slash", "open//a.md"],
  ["a trailing slash", "open/a.md/"],
  ["a hidden file", "open/.hidden.md"],
  ["the index", "open/_index.json"],
  ["the index in another spelling", "open/_INDEX.json"],
  ["the records of runs", ".longhaul/projects/r/secret.md"],
  ["a base outside the run's folders", "closed/secret.md"],
  ["a folder next to the run's folder", "mixed/private/secret.md"],
  ["a folder whose name starts like the run's folder", "mixed/publicity/secret.md"],
  ["a file next to the run's folder", "mixed/secret.md"],
  ["a file outside any base", "secret.md"],
  ["a base alone", "open"],
  ["a base in another case", "OPEN/a.md"],
  ["a file in another case", "open/A.MD"],
  ["a file with a space at its end", "open/a.md "],
  ["a file with a dot at its end", "open/a.md."],
  ["a stream of NTFS", "open/a.md::$DATA"],
  ["a home folder", "~/secret.md"],
  ["a variable", "open/$HOME/secret.md"],
  ["a command", "open/`id`.md"],
  ["a glob", "open/*.md"],
  ["a glob over bases", "*/secret.md"],
  ["a section that is a path", "open/a.md#../../closed/secret.md"],
  ["two sections", "open/a.md#open#../secret"],
  ["a query", "open/a.md?file=../../closed/secret.md"],
  ["an unknown external document", "ext:nothing"],
  ["an external document that is a path", "ext:../secret"],
  ["an external document that is an address", "ext:http://127.0.0.1/"],
  ["an external document of an object's own names", "ext:constructor"],
  ["a base of an object's own names", "__proto__/secret.md"],
  ["a file of an object's own names", "open/constructor"],
  ["an empty reference", ""],
  ["spaces", "   "],
  ["a very long reference", `open/${"a/".repeat(400)}secret.md`],
]

describe.each(Object.keys(stores))("on a store in %s", { tags: ["KB-10"] }, (store) => {
  test.each(attacks)("a reference with %s is refused", async (_, ref) => {
    const error = await call(tools[store]?.[0], { ref }).then(
      (text) => new Error(`It returned ${String(text)}`),
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(ToolError)
    expect(["invalid_input", "not_found"]).toContain((error as ToolError).code)
    expect((error as ToolError).message).not.toContain(SECRET)
    expect((error as ToolError).message).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })

  test.each(["closed", "../closed", "mixed/private", "/", "", "*", "__proto__", "other"])(
    "a search in the base %j is refused",
    async (base) => {
      await expect(call(tools[store]?.[1], { query: "sentinel", base })).rejects.toMatchObject({ code: "not_found" })
    },
  )

  test("a search finds nothing outside the run's folders, and links lead nowhere else", async () => {
    expect(await call(tools[store]?.[1], { query: "sentinel that no model may read" })).toMatch(/^No section matches/)
    const found = await call(tools[store]?.[1], { query: "everybody" })
    expect(found).toContain("open/a.md#open")
    expect(found).toContain("mixed/public/b.md#public")
    expect(found).not.toContain("Links to")
  })

  test("the references that are not attacks are read", async () => {
    expect(await call(tools[store]?.[0], { ref: "open/a.md#open" })).toContain("For everybody.")
    expect(await call(tools[store]?.[0], { ref: "mixed/public/b.md" })).toContain("Also for everybody.")
  })
})

describe("folders that a host passes", { tags: ["KB-10"] }, () => {
  test.each(["../other", "/etc", "a/../b", "", ".", ".hidden", "a//b", "a\\b", "a/\0", "a:b", "%2e%2e", 7, null])(
    "%j is config_invalid",
    (folder) => {
      // Safe: JavaScript callers have no compiler.
      const folders = [folder as string]
      expect(() => knowledge({ folders })).toThrow(expect.objectContaining({ code: "config_invalid" }))
    },
  )
})

async function call(tool: Tool | undefined, args: object): Promise<string> {
  return String(await tool?.run(args, createToolContext()))
}

describe("symbolic links in a base on disk", () => {
  /** Links that an unpacked archive could bring along: each leads to the same secret document of another tenant. */
  const links: readonly (readonly [name: string, plant: (base: string, victim: string) => void])[] = [
    ["a document", (base, victim) => symlinkSync(join(victim, "secret.md"), join(base, "linked.md"))],
    ["a document, relative", (base) => symlinkSync("../../../other/knowledge/open/secret.md", join(base, "linked.md"))],
    ["a folder", (base, victim) => symlinkSync(victim, join(base, "linked"))],
    [
      "a folder in a folder",
      (base, victim) => {
        mkdirSync(join(base, "deep"))
        symlinkSync(victim, join(base, "deep", "linked"))
      },
    ],
    [
      "a chain of links",
      (base, victim) => {
        symlinkSync(join(victim, "secret.md"), join(base, "first.txt"))
        symlinkSync("first.txt", join(base, "linked.md"))
      },
    ],
    ["a named index", (base, victim) => symlinkSync(join(victim, "_index.json"), join(base, "_index.json"))],
    [
      "the base itself",
      (base, victim) => {
        rmSync(base, { recursive: true })
        symlinkSync(victim, base)
      },
    ],
  ]

  test.each(links)("%s that leads to another tenant is neither searched nor read", async (_, plant) => {
    const at = mkdtempSync(join(root, "linked-"))
    const store = fsStore(at)
    await addDocuments(store, { "open/a.md": "# Open\n\nFor everybody.\n" })
    await addDocuments(store, { "open/secret.md": `# Secret\n\n${SECRET}\n` }, "other")
    await writeKnowledgeIndex({ store, workspaceId: "other", base: "open" })
    const [base, victim] = ["default", "other"].map((id) => join(at, "workspaces", id, "knowledge", "open"))
    plant(base ?? "", victim ?? "")
    const library = await openKnowledge({ store })
    expect(JSON.stringify(library.bases)).not.toMatch(/linked|secret/)
    expect(JSON.stringify(await library.search(SECRET, { limit: 5 }))).not.toContain(SECRET)
    for (const ref of ["open/linked.md", "open/linked/secret.md", "open/deep/linked/secret.md", "open/secret.md"]) {
      await expect(library.read(ref, { signal: new AbortController().signal })).rejects.toThrow()
    }
  })

  test("a link to a document of the same base is read", async () => {
    const at = mkdtempSync(join(root, "linked-"))
    const store = fsStore(at)
    await addDocuments(store, { "open/a.md": "# Open\n\nFor everybody.\n" })
    symlinkSync("a.md", join(at, "workspaces", "default", "knowledge", "open", "b.md"))
    const library = await openKnowledge({ store })
    const { text } = await library.read("open/b.md", { signal: new AbortController().signal })
    expect(text).toContain("For everybody.")
  })
})
