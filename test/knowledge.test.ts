import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { LonghaulError } from "../src/contract/error.ts"
import type { Extension } from "../src/contract/extension.ts"
import type { ConversationSetup } from "../src/contract/provider.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import type { Store } from "../src/contract/store.ts"
import {
  buildKnowledgeIndex,
  createReadKnowledgeTool,
  createSearchKnowledgeTool,
  type Extractor,
  getExtractor,
  knowledge,
  openKnowledge,
  writeKnowledgeIndex,
} from "../src/extensions/knowledge/index.ts"
import { createOnlyStore, fsStore } from "../src/hosts/node/index.ts"
import { createRuntime } from "../src/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { createToolContext } from "../src/tools/index.ts"
import { addDocuments, handbook } from "./knowledge/place.ts"
import { partsIn } from "./secrets/sentinels.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-knowledge-"))
let server: S3Server
beforeAll(async () => {
  server = await startS3()
})
afterAll(async () => {
  await server?.close()
  rmSync(scratch, { recursive: true, force: true })
})
let made = 0
const freshRoot = () => join(scratch, `store-${made++}`)
const call = (name: string, args: object = {}) => ({ parts: [{ toolCall: { name, args: { ...args } } }] })

/** Runs these calls in one run, and returns their results and what the model was set up with. */
async function callsIn(
  store: Store,
  calls: readonly (readonly [string, object])[],
  { extension = knowledge(), ...config }: RuntimeConfig & { readonly extension?: Extension } = {},
) {
  const setups: ConversationSetup[] = []
  const steps = calls.map(
    ([name, args]): ScriptedStep =>
      (_, setup) => {
        setups.push(setup)
        return call(name, args)
      },
  )
  const last: ScriptedStep = (_, setup) => {
    setups.push(setup)
    return "ok"
  }
  const runtime = createRuntime({ model: scriptedModel([...steps, last]), store, ...config })
  const result = await runtime.run({ task: "x", runId: `r${made++}`, extensions: [extension] })
  expect(result.status).toBe("done")
  const [setup] = setups
  return {
    results: result.toolCalls.map((each) => String(each.result)),
    tools: setup?.tools.map(({ name }) => name) ?? [],
    system: setup?.system ?? "",
    warnings: result.warnings.map(({ message }) => message),
    result,
  }
}

const search = (query: string, more: object = {}) => ["SearchKnowledge", { query, ...more }] as const
const read = (ref: string, more: object = {}) => ["ReadKnowledge", { ref, ...more }] as const

const stores: Readonly<Record<string, () => Store>> = {
  memory: memoryStore,
  "the local disk": () => fsStore(freshRoot()),
  "any file system": () => createOnlyStore(freshRoot()),
  "a bucket": () => server.freshStore(),
}

describe.each(Object.entries(stores))("knowledge in %s", (_, make) => {
  test("a document is found by words and read by reference, with an index and without one", {
    tags: ["KB-01", "KB-06", "KB-07"],
  }, async () => {
    const store = make()
    await addDocuments(store, handbook)
    for (const isIndexed of [false, true]) {
      if (isIndexed) {
        for (const base of ["handbook", "产品"]) await writeKnowledgeIndex({ store, base })
        expect(await store.folder("workspaces/default/knowledge/handbook").exists("_index.json")).toBe(true)
      }
      const { results, tools, system } = await callsIn(store, [
        search("days left carry over", { limit: 2 }),
        read("handbook/leave.md#carry-over"),
        read("handbook/people/Sick leave.md"),
        search("退款", { base: "产品" }),
        read("产品/退款.md#保修"),
      ])
      expect(tools).toEqual(["SearchKnowledge", "ReadKnowledge"])
      expect(system).toContain("- handbook (3 files)")
      const [found = "", section = "", file = "", chinese = "", warranty = ""] = results
      expect(found.split("\n\n")).toHaveLength(2)
      expect(found).toMatch(
        /^handbook\/leave\.md#carry-over\n {2}leave\.md > Leave > Carry over\n {2}Days that are left expire/,
      )
      expect(found).toContain("Links to: handbook/travel.md#trains, handbook/people/Sick leave.md")
      expect(section).toMatch(
        /^## Carry over\n[\s\S]*# not a heading[\s\S]*### Exceptions\n\nParents may keep ten days\.$/,
      )
      expect(file).toBe("Call before nine.\n")
      expect(chinese).toMatch(/^产品\/退款\.md#退款政策\n/)
      expect(warranty).toBe("## 保修\n\n所有电器保修两年。")
    }
  })
})

describe("a search", () => {
  test.each([
    ["Chinese", "退款政策", "产品/退款.md#退款政策"],
    ["Chinese in a sentence", "运费退不退", "产品/退款.md#退款政策"],
    ["Chinese for another section", "电器保修多久", "产品/退款.md#保修"],
    ["Japanese", "返品", "manual/japan.md#返品"],
    ["Japanese with another split of words", "都庁", "manual/japan.md#返品"],
    ["Japanese for another section", "配送は何日かかりますか", "manual/japan.md#配送"],
    ["German", "Kündigungsfrist", "produkte/kuendigung.md#kündigung"],
    ["German without the umlaut", "kundigungsfrist", "produkte/kuendigung.md#kündigung"],
    ["German with another spelling of the umlaut", "Kuendigungsfrist", "produkte/kuendigung.md#kündigung"],
    ["German with double s", "strasse", "produkte/kuendigung.md#kündigung"],
    ["English with an error", "exeptions", "handbook/leave.md#exceptions"],
    ["the beginning of a word", "parent", "handbook/leave.md#exceptions"],
  ])("a search in %s finds its section first", async (_, query, ref) => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    const library = await openKnowledge({ store })
    expect((await library.search(query, { limit: 5 }))[0]?.ref).toBe(ref)
  })

  test("a search shows the part of a long section that matches, with the secrets masked before it is cut", async () => {
    const store = memoryStore()
    const secret = "sentinel-value-of-the-secret"
    await addDocuments(store, {
      "b/a.md": `# Long\n\n${"filler ".repeat(500)}needle ${secret} ${"filler ".repeat(500)}`,
    })
    const { results } = await callsIn(store, [search("needle"), read("b/a.md", { offset: 3400 })], {
      secrets: { KEY: secret },
    })
    expect(results[0]).toMatch(/\.\.\. filler .*needle \{\{secret::KEY\}\} filler .* \.\.\.$/)
    expect(results.join()).not.toContain("sentinel")
  })

  test("a search returns at most maxSearchResults sections, five if nothing is set", { tags: ["KB-04"] }, async () => {
    const store = memoryStore()
    await addDocuments(store, {
      "b/a.md": Array.from({ length: 20 }, (_, index) => `# Part ${index}\n\nneedle\n`).join(""),
    })
    const count = async (extension: Extension, more = {}) =>
      (await callsIn(store, [search("needle", more)], { extension })).results[0]?.split("\n\n").length
    expect(await count(knowledge())).toBe(5)
    expect(await count(knowledge({ maxSearchResults: 8 }))).toBe(8)
    expect(await count(knowledge({ maxSearchResults: 8 }), { limit: 3 })).toBe(3)
  })
})

describe("ReadKnowledge", () => {
  test("ReadKnowledge cuts a long text at maxReadBytes, says so, and continues at an offset", {
    tags: ["KB-07"],
  }, async () => {
    const store = memoryStore()
    const text = `# Ä\n\n${"wörter ".repeat(3000)}\n\n# End\n\nlast`
    await addDocuments(store, { "b/a.md": text })
    const { results } = await callsIn(store, [read("b/a.md")])
    const [start = ""] = results
    const note =
      /\n\[cut after 10000 bytes of \d+ characters; continue with offset (\d+)\. Its sections: b\/a\.md#ä, b\/a\.md#end\.\]$/
    const offset = Number(note.exec(start)?.[1])
    const first = start.replace(note, "")
    expect(new TextEncoder().encode(first).length).toBeLessThanOrEqual(10_000)
    const rest = await callsIn(store, [read("b/a.md", { offset })], { extension: knowledge({ maxReadBytes: 100_000 }) })
    expect(first + rest.results[0]).toBe(text)
    const small = await callsIn(store, [read("b/a.md"), read("b/a.md", { offset: 1e6 })], {
      extension: knowledge({ maxReadBytes: 100 }),
    })
    expect(small.results[0]).toContain("[cut after 100 bytes")
    expect(small.results[1]).toContain("is after its end")
  })

  test("ReadKnowledge shows no part of a secret, wherever a part of the text begins or ends", async () => {
    const secret = "declared-7f3a9c1e55d0"
    const before = "words ".repeat(20)
    const store = memoryStore()
    await addDocuments(store, { "b/a.md": `${before}${secret} and more ${"words ".repeat(40)}` })
    const offsets = Array.from({ length: secret.length + 12 }, (_, index) => before.length - 6 + index)
    const { results } = await callsIn(
      store,
      offsets.map((offset) => read("b/a.md", { offset })),
      { secrets: { KEY: secret } },
    )
    expect(results[0]).toContain("KEY}} and more")
    for (const [index, text] of results.entries())
      expect([offsets[index], partsIn(text, secret)]).toEqual([offsets[index], []])
    for (const maxReadBytes of offsets) {
      const { results: cut } = await callsIn(store, [read("b/a.md")], {
        secrets: { KEY: secret },
        extension: knowledge({ maxReadBytes }),
      })
      expect([maxReadBytes, partsIn(cut[0] ?? "", secret)]).toEqual([maxReadBytes, []])
    }
  })

  test("ReadKnowledge names the sections of a file if the one that was asked for is not there", async () => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    const { results } = await callsIn(store, [read("handbook/travel.md#ships")])
    expect(results[0]).toContain("handbook/travel.md#trains, handbook/travel.md#planes")
  })

  test("ReadKnowledge reads md, txt, json, csv and html; pdf and docx name what is missing", {
    tags: ["KB-08", "KB-09", "FAIL-27"],
  }, async () => {
    const store = memoryStore()
    const html =
      "<html><head><title>T</title><style>p{}</style><script>steal()</script></head><body><h1>Prices</h1>" +
      "<p>A   &amp;\n B &euro; 5</p><h2>Old</h2><p>none</p></body></html>"
    await addDocuments(store, {
      "b/a.txt": "plain text",
      "b/a.json": '{"answer":{"value":42}}',
      "b/a.csv": "name,price\nchair,10\n",
      "b/a.html": html,
      "b/a.pdf": "%PDF-1.7",
      "b/a.docx": "PK",
      "b/bin.md": new Uint8Array([1, 0, 2]),
      "b/a.exe": "not a document",
    })
    const { results, warnings, system } = await callsIn(store, [
      search("prices euro"),
      read("b/a.html#prices"),
      read("b/a.json"),
      read("b/a.csv"),
      read("b/a.txt"),
      read("b/a.pdf"),
      read("b/a.docx"),
      read("b/bin.md"),
    ])
    expect(system).toContain("- b (7 files)")
    expect(results[0]).toMatch(/^b\/a\.html#prices\n/)
    expect(results[1]).toBe("# Prices\n\nA & B € 5\n\n## Old\n\nnone")
    expect(results[2]).toContain('"value": 42')
    expect(results[3]).toBe("name,price\nchair,10\n")
    expect(results[4]).toBe("plain text")
    expect(results[5]).toContain(
      "b/a.pdf is PDF, which cannot be read here. Run on Node with the package installed (npm install unpdf)",
    )
    expect(results[6]).toContain("npm install mammoth")
    expect(results[7]).toContain("b/bin.md is binary")
    expect(results.join()).not.toContain("steal")
    expect(warnings.filter((warning) => warning.includes("omitted from the search"))).toHaveLength(3)
    await expect(
      getExtractor("pdf")(new Uint8Array(), { name: "a.pdf", signal: new AbortController().signal }),
    ).rejects.toMatchObject({
      code: "format_unsupported",
      retryable: false,
      fix: expect.stringContaining("npm install unpdf"),
    })
  })
})

describe("the index of a base", () => {
  /** Counts which documents are extracted. */
  const counting = () => {
    const extracted: string[] = []
    const md: Extractor = (bytes, request) => {
      extracted.push(request.name)
      return getExtractor("md")(bytes, request)
    }
    return { extracted, extension: knowledge({ extractors: { md } }) }
  }
  const indexFile = (store: Store) => store.folder("workspaces/default/knowledge/handbook")

  test("the index of a base has the digests of the files and their sections, and no text of another base", {
    tags: ["KB-02"],
  }, async () => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    const { index, failed } = await buildKnowledgeIndex({ store, base: "handbook" })
    expect(failed).toEqual([])
    expect(index).toMatchObject({
      version: 2,
      files: [
        { path: "leave.md", sections: ["leave", "carry-over", "exceptions", "carry-over-2"] },
        { path: "people/Sick leave.md", sections: [""] },
        { path: "travel.md", sections: ["travel", "trains", "planes"] },
      ],
    })
    expect(index.files.every(({ digest }) => /^[0-9a-f]{64}$/.test(digest))).toBe(true)
    expect(JSON.stringify(index)).not.toContain("退款")
  })

  test("the index of a base has its files in the same order, however long each takes to read", async () => {
    const store = memoryStore()
    const names = Array.from({ length: 20 }, (_, number) => `f${String(number).padStart(2, "0")}.md`)
    await addDocuments(store, Object.fromEntries(names.map((name) => [`slow/${name}`, "# Same\n\nthe same words"])))
    const md: Extractor = async (bytes, request) => {
      await new Promise((resolve) => setTimeout(resolve, (bytes.length * request.name.charCodeAt(7)) % 7))
      return getExtractor("md")(bytes, request)
    }
    const { index } = await buildKnowledgeIndex({ store, base: "slow", extractors: { md } })
    expect(index.files.map(({ path }) => path)).toEqual(names)
  })

  test("an index is used: no document is read again; without it all are, once per run", {
    tags: ["KB-03"],
  }, async () => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    const without = counting()
    await callsIn(store, [search("days"), search("trains")], { extension: without.extension })
    expect(without.extracted).toHaveLength(6)
    for (const base of ["handbook", "produkte", "产品", "manual"]) await writeKnowledgeIndex({ store, base })
    const indexed = counting()
    const { results, warnings } = await callsIn(store, [search("days"), search("trains")], {
      extension: indexed.extension,
    })
    expect(indexed.extracted).toEqual([])
    expect(results[1]).toContain("handbook/travel.md#trains")
    expect(warnings).toEqual([])
  })

  test("an index that is stale is brought up to date in memory, for the changed files only", {
    tags: ["KB-03"],
  }, async () => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    await writeKnowledgeIndex({ store, base: "handbook" })
    const before = await indexFile(store).read("_index.json")
    await addDocuments(store, {
      "handbook/travel.md": "# Travel\n\n## Ships\n\nUpper deck.\n",
      "handbook/new.md": "# Bicycles\n",
    })
    await store.folder("workspaces/default/knowledge/handbook/people").delete("Sick leave.md")
    const { extracted, extension } = counting()
    const { results } = await callsIn(
      store,
      [
        search("ships", { base: "handbook" }),
        search("planes economy", { base: "handbook" }),
        search("bicycles"),
        search("nine"),
      ],
      { extension },
    )
    expect(extracted.filter((name) => name.startsWith("handbook/")).sort()).toEqual([
      "handbook/new.md",
      "handbook/travel.md",
    ])
    expect(results[0]).toMatch(/^handbook\/travel\.md#ships\n/)
    expect(results[1]).toMatch(/^No section matches/)
    expect(results[2]).toMatch(/^handbook\/new\.md#bicycles\n/)
    expect(results[3]).toMatch(/^No section matches/)
    expect(await indexFile(store).read("_index.json")).toEqual(before)
  })

  test.each([
    ["not JSON", () => "{"],
    ["empty", () => ""],
    ["null", () => "null"],
    ["a list", () => "[]"],
    ["of another version", (index: string) => index.replace('"version":2', '"version":1')],
    ["without files", (index: string) => index.replace('"files":', '"other":')],
    ["with wrong files", (index: string) => index.replace(/"files":\[.*?\],"minisearch"/s, '"files":[7],"minisearch"')],
    [
      "with sections of no file",
      (index: string) => index.replace(/"files":\[.*?\],"minisearch"/s, '"files":[],"minisearch"'),
    ],
    ["cut off", (index: string) => index.slice(0, index.length / 2)],
    ["without a search index", (index: string) => index.replace(/"minisearch":.*$/s, '"minisearch":{}}')],
    [
      "with a search index that fails in use",
      (index: string) => index.replace(/"index":\[.*$/s, '"index":[["leave",{"0":7}],["leave",null]]}}'),
    ],
    [
      "without the lengths of its fields, which only a search needs",
      (index: string) =>
        index.replace(/"fieldLength":\{.*?\},"averageFieldLength"/s, '"fieldLength":{},"averageFieldLength"'),
    ],
    ["with other fields", (index: string) => index.replace('"storedFields":', '"forgotten":')],
  ])("an index that is %s is replaced in memory, with a warning", { tags: ["KB-03"] }, async (_, damage) => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    await writeKnowledgeIndex({ store, base: "handbook" })
    const whole = new TextDecoder().decode((await indexFile(store).read("_index.json")) ?? undefined)
    const damaged = damage(whole)
    expect(damaged).not.toBe(whole)
    await indexFile(store).replace("_index.json", new TextEncoder().encode(damaged))
    const { results, warnings } = await callsIn(store, [search("leave"), search("trains")])
    expect(results[0]).toContain("handbook/leave.md#leave")
    expect(results[1]).toContain("handbook/travel.md#trains")
    expect(warnings).toEqual([expect.stringContaining("longhaul knowledge index handbook")])
  })

  test.each([
    ["missing", undefined],
    ["damaged in a way that only a search finds", '"index":[["leave",{"0":7}],["leave",null]]}}'],
  ])("an index that is %s and could not be built once is built by the next search", async (_, damage) => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    if (damage !== undefined) {
      await writeKnowledgeIndex({ store, base: "handbook" })
      const whole = new TextDecoder().decode((await indexFile(store).read("_index.json")) ?? undefined)
      const damaged = whole.replace(/"index":\[.*$/s, damage)
      await indexFile(store).replace("_index.json", new TextEncoder().encode(damaged))
    }
    let outages = 2
    const md: Extractor = (bytes, request) => {
      // What a build after the damage needs first; an undamaged part of the index needs no document.
      if (outages-- > 0) throw new LonghaulError("storage", "The disk is away.")
      return getExtractor("md")(bytes, request)
    }
    const calls = Array.from({ length: 4 }, () => search("leave", { base: "handbook" }))
    const { results, result } = await callsIn(store, calls, { extension: knowledge({ extractors: { md } }) })
    expect(result.toolCalls[0]).toMatchObject({ status: "error" })
    expect(results[0]).toContain("The disk is away.")
    expect(result.toolCalls.at(-1)).toMatchObject({ status: "ok" })
    expect(results.at(-1)).toContain("handbook/leave.md#leave")
  })

  test("indexing a base that does not exist is an error that says how to begin", async () => {
    await expect(writeKnowledgeIndex({ store: memoryStore(), base: "none" })).rejects.toMatchObject({
      code: "not_found",
    })
    await expect(writeKnowledgeIndex({ store: memoryStore(), base: "../x" })).rejects.toMatchObject({
      code: "config_invalid",
    })
  })
})

describe("the extension", () => {
  test("the extension gives nothing to a run that has none, whose workspace has none, or that switches it off", {
    tags: ["KB-04"],
  }, async () => {
    const empty = memoryStore()
    const store = memoryStore()
    await addDocuments(store, handbook)
    await addDocuments(empty, { "handbook/.keep": "", "handbook/_index.json": "{}" })
    const runtime = (steps: readonly ScriptedStep[], of: Store, extensions: readonly Extension[]) =>
      createRuntime({ model: scriptedModel(steps), store: of, extensions })
    const seen: unknown[] = []
    const step: ScriptedStep = (_, { system, tools }) => {
      seen.push([system, tools.length])
      return "ok"
    }
    await runtime([step], store, []).run({ task: "x" })
    await runtime([step], empty, [knowledge()]).run({ task: "x" })
    await runtime([step], store, [knowledge({ enabled: false })]).run({ task: "x" })
    await runtime([step], store, [knowledge()]).run({ task: "x", extensions: [knowledge({ enabled: false })] })
    expect(seen).toEqual(Array(4).fill([undefined, 0]))
  })

  test("the extension shows a run only the folders that it names, also below a base", { tags: ["KB-05"] }, async () => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    const { system, results } = await callsIn(store, [search("leave nine days"), read("handbook/leave.md")], {
      extension: knowledge({ folders: ["handbook/people", "manual"] }),
    })
    expect(system).toContain("- handbook (1 file)\n- manual (1 file)")
    expect(results[0]).toContain("handbook/people/Sick leave.md")
    expect(results[0]).not.toContain("leave.md#")
    expect(results[1]).toContain("has no file")
  })

  test("the extension has each document once if a run names its folder and one above it", async () => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    const { system, results } = await callsIn(store, [search("sick")], {
      extension: knowledge({ folders: ["handbook/people", "handbook", "handbook/people"] }),
    })
    expect(system).toContain(
      `- handbook (${Object.keys(handbook).filter((path) => path.startsWith("handbook/")).length} files)`,
    )
    expect(results[0]?.match(/^handbook\/people\/Sick leave\.md/gm)).toHaveLength(1)
  })

  test("the knowledge is searched over all bases for the best sections, and numbers are found exactly", {
    tags: ["KB-04"],
  }, async () => {
    const store = memoryStore()
    const weak = Array.from({ length: 5 }, (_, index) => [
      `a/weak-${index}.md`,
      `# Notes\n\n${"filler ".repeat(200)} harbour`,
    ])
    await addDocuments(store, {
      ...Object.fromEntries(weak),
      "b/best.md": "# Harbour\n\nAll about the harbour. Error 10421.",
    })
    const { results } = await callsIn(store, [search("harbour"), search("10422"), search("10421")])
    expect(results[0]).toMatch(/^b\/best\.md/)
    expect(results[1]).toMatch(/^No section matches/)
    expect(results[2]).toContain("b/best.md")
  })

  test.each([
    ["folders", { folders: ["a"] }],
    [
      "headers",
      { external: [{ name: "a", description: "d", url: "https://a.example", headers: { "x-key": "12345678" } }] },
    ],
  ])("the extension with %s is refused on a runtime and allowed on a run", { tags: ["KB-12"] }, async (_, options) => {
    expect(() => createRuntime({ model: scriptedModel([]), extensions: [knowledge(options)] })).toThrow(
      expect.objectContaining({ code: "config_invalid", message: expect.stringContaining("one run only") }),
    )
    await callsIn(memoryStore(), [], { extension: knowledge(options) })
  })

  test.each([
    [{ folder: ["a"] }, "Did you mean"],
    [{ folders: "a" }, "folders is a string"],
    [{ enabled: "no" }, "enabled is a string"],
    [{ maxSearchResults: 0 }, "maxSearchResults is 0"],
    [{ maxReadBytes: 1.5 }, "maxReadBytes is 1.5"],
    [{ external: {} }, "external is an object"],
    [{ external: [{ name: "a b", description: "d", url: "https://a.example" }] }, "external[0].name"],
    [{ external: [{ name: "a", description: "", url: "https://a.example" }] }, "no description"],
    [{ external: [{ name: "a", description: "d", url: "file:///etc/passwd" }] }, "not a web address"],
    [{ external: [{ name: "a", description: "d", url: "https://a.example", format: "exe" }] }, "external[0].format"],
    [
      { external: [{ name: "a", description: "d", url: "https://a.example", headers: { a: "b\r\nc" } }] },
      "invalid header",
    ],
    [{ external: Array(2).fill({ name: "a", description: "d", url: "https://a.example" }) }, "Two external documents"],
    [{ extractors: { exe: () => {} } }, "unknown key"],
  ])("the extension with %j is config_invalid", { tags: ["KB-12"] }, (options, message) => {
    // Safe: JavaScript callers have no compiler.
    const given = options as Parameters<typeof knowledge>[0]
    expect(() => knowledge(given)).toThrow(expect.objectContaining({ code: "config_invalid" }))
    try {
      knowledge(given)
    } catch (error) {
      expect(`${error} ${JSON.stringify(error)}`).toContain(message)
    }
  })

  test("the extension has its results offloaded, agents have its tools, and disabledTools removes them", {
    tags: ["KB-13"],
  }, async () => {
    const store = memoryStore()
    await addDocuments(store, { "b/a.md": `# A\n\n${"needle ".repeat(1000)}` })
    const offloaded = await callsIn(store, [read("b/a.md")], { compaction: { offload: true } })
    expect(offloaded.tools).toContain("FetchData")
    expect(offloaded.results[0]?.length).toBeLessThan(3000)

    const steps: ScriptedStep[] = [
      call("Agent", { description: "d", prompt: "Look." }),
      (_, { tools, system }) => {
        expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["SearchKnowledge", "ReadKnowledge"]))
        expect(system).toContain("- b (1 file)")
        return call("SearchKnowledge", { query: "needle" })
      },
      "found",
      "Done.",
    ]
    const runtime = createRuntime({ model: scriptedModel(steps), store, agents: {} })
    const run = await runtime.run({ task: "x", extensions: [knowledge({ folders: ["b"] })] })
    expect(run).toMatchObject({ status: "done", text: "Done." })

    const disabled = await callsIn(store, [], { disabledTools: ["ReadKnowledge"] })
    expect(disabled.tools).toEqual(["SearchKnowledge"])
  })

  test("the extension keeps the tools of a run that is resumed after its knowledge was removed", async () => {
    const store = memoryStore()
    await addDocuments(store, { "b/a.md": "# A\n" })
    const gate = { hooks: { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) } } as const
    const begun = createRuntime({
      model: scriptedModel([call("SearchKnowledge", { query: "a" })]),
      store,
      ...gate,
      extensions: [knowledge()],
    })
    expect(await begun.run({ task: "x", runId: "r" })).toMatchObject({ status: "paused" })
    await store.folder("workspaces/default/knowledge/b").delete("a.md")
    const later = createRuntime({ model: scriptedModel(["ok"]), store, extensions: [knowledge()] })
    const result = await later.resume({ runId: "r", decision: "approve" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ name: "SearchKnowledge", status: "ok" }] })
  })

  test("the extension keeps the knowledge of workspaces apart", async () => {
    const store = memoryStore()
    await addDocuments(store, { "b/a.md": "# Secret\n" }, "acme")
    const { tools } = await callsIn(store, [])
    expect(tools).toEqual([])
    const own = await callsIn(store, [search("secret")], { workspaceId: "acme" })
    expect(own.results[0]).toContain("b/a.md#secret")
  })

  test("the extension leaves out files whose names could mean something else, with a warning", async () => {
    const store = memoryStore()
    await addDocuments(store, { "b/a.md": "# A\n", "b/a:b.md": "# B\n", "b/..": "x", "b/a%2fb.md": "# C\n" })
    const { system, warnings } = await callsIn(store, [])
    expect(system).toContain("- b (1 file)")
    expect(warnings).toHaveLength(2)
  })

  test("the parts of the extension can be used without a run", { tags: ["KB-14"] }, async () => {
    const store = memoryStore()
    await addDocuments(store, handbook)
    const library = await openKnowledge({ store, folders: ["handbook"] })
    const tools = [
      createSearchKnowledgeTool(library, { maxSearchResults: 1 }),
      createReadKnowledgeTool(library, { maxReadBytes: 50 }),
    ]
    expect(tools.map(({ name, effect, concurrent, risk }) => [name, effect, concurrent, risk])).toEqual([
      ["SearchKnowledge", "none", true, "low"],
      ["ReadKnowledge", "none", true, "low"],
    ])
    expect(await tools[0]?.run({ query: "trains" }, createToolContext())).toContain("handbook/travel.md#trains")
    expect(await tools[1]?.run({ ref: "handbook/leave.md" }, createToolContext())).toContain("[cut after 50 bytes")
  })
})
