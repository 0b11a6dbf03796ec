import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import type { OffloadedResult, OffloadSettings } from "../src/contract/compaction.ts"
import { LonghaulError } from "../src/contract/error.ts"
import type { RunRecord } from "../src/contract/event.ts"
import type { Message } from "../src/contract/message.ts"
import type { Policy, PolicyService } from "../src/contract/policy.ts"
import type { Model } from "../src/contract/provider.ts"
import type { RunInput, RuntimeConfig } from "../src/contract/run.ts"
import type { Folder, Store } from "../src/contract/store.ts"
import { type Tool, ToolError } from "../src/contract/tool.ts"
import { createRuntime as createNodeRuntime, createOnlyStore, fsStore } from "../src/hosts/node/index.ts"
import { createRuntime } from "../src/index.ts"
import { runPath } from "../src/journal/paths.ts"
import { plainText } from "../src/lib/content.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { fakeBackend, type ScriptedStep, type SimulatedRequest, scriptedModel } from "../src/testing/index.ts"
import { defineTool, type ToolDefinition } from "../src/tools/kernel/define-tool.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"
import { until } from "./support/watchdog.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-offload-"))
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

const LONG = `begin ${"x".repeat(5000)} end`
const input = { type: "object" } as const
const key = { workspaceId: "default", runId: "r", nodeId: "main" }

function toolThat(run: () => unknown, more: Partial<ToolDefinition<typeof input, object>> = {}): Tool {
  return defineTool({
    name: "big",
    description: "Returns much.",
    inputSchema: input,
    effect: "none",
    ...more,
    run: async () => (await run()) as string,
  })
}
const call = (name: string, args: object = {}): ScriptedStep => ({ parts: [{ toolCall: { name, args: { ...args } } }] })
const big = call("big")
const fetching = (ref: string, more: object = {}) => call("FetchData", { ref, ...more })

/** The texts of the results that the model has received. */
const received = (messages: readonly Message[] = []) =>
  messages.flatMap((message) =>
    message.role === "tool" ? message.content.map(({ output }) => plainText(output, "\n")) : [],
  )

/** One runtime, as in a process of its own. */
function processOver(store: Store, steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  const model = scriptedModel(steps)
  const tools = [toolThat(() => LONG)]
  return { model, runtime: createRuntime({ model, store, tools, compaction: { offload: true }, ...config }) }
}

async function finish(config: RuntimeConfig, steps: readonly ScriptedStep[], run: Partial<RunInput> = {}) {
  const store = config.store ?? memoryStore()
  const { model, runtime } = processOver(store, steps, config)
  // Safe: every run of this file has a task.
  const result = await runtime.run({ task: "Go.", runId: "r", ...run } as RunInput)
  return { store, model, runtime, result, records: await recordsOf(store), seen: received(model.calls.at(-1)) }
}

async function recordsOf(store: Store, runId = "r", nodeId = "main"): Promise<RunRecord[]> {
  const records: RunRecord[] = []
  for await (const record of createRuntime({ store }).events(runId, { nodeId })) records.push(record)
  return records
}

const blobs = (store: Store, runId = "r", nodeId = "main") =>
  store.list(`${runPath({ ...key, runId, nodeId })}/toolResults`)

async function blobOf(store: Store, name = "1.0.json", runId = "r"): Promise<string> {
  const bytes = await store.folder(runPath({ ...key, runId })).read(`toolResults/${name}`)
  return bytes === null ? "" : new TextDecoder().decode(bytes)
}

const storedOf = (records: readonly RunRecord[]) =>
  records.flatMap((record) => (record.type === "tool-result" ? [record.stored] : []))

/** A store in memory, and the names of the files that are read and created in it. */
function watchedStore() {
  const inner = memoryStore()
  const reads: string[] = []
  const creates: string[] = []
  const watched = (folder: Folder): Folder => ({
    ...folder,
    read(name) {
      reads.push(name)
      return folder.read(name)
    },
    create(name, bytes) {
      creates.push(name)
      return folder.create(name, bytes)
    },
  })
  const store: Store = { ...inner, folder: (path) => watched(inner.folder(path)) }
  return { store, reads, creates }
}

const isResult = (name: string) => name.startsWith("toolResults")

describe("a long result", () => {
  const stores: readonly (readonly [string, () => Store])[] = [
    ["memory", memoryStore],
    ["an appending disk", () => fsStore(freshRoot())],
    ["a create-only disk", () => createOnlyStore(freshRoot())],
    ["S3", () => server.freshStore()],
  ]

  test.each(stores)(
    "a long result is stored on %s next to its run, fetched, and removed with it",
    { tags: ["OFF-06", "OFF-08", "CAP-11"] },
    async (_, store) => {
      const {
        runtime,
        result,
        records,
        seen,
        store: used,
      } = await finish({ store: store() }, [big, fetching("1.0"), "Done."])
      const [preview = "", whole] = seen
      expect(preview).toMatch(/^begin x+\n\[5010 bytes in all are stored\. FetchData with ref "1\.0" returns them/)
      expect(whole).toBe(LONG)
      expect(result.toolCalls[0]?.result).toBe(preview)
      expect(result.capabilitiesUsed.toolCompactionApplied).toBe(true)
      expect(storedOf(records)).toEqual([{ bytes: 5010 }, undefined])
      expect(JSON.parse(await blobOf(used))).toEqual({ v: 1, callId: "1.0", tool: "big", text: LONG })
      expect(await runtime.remove("r")).toBe(true)
      expect(await blobs(used)).toEqual([])
    },
  )

  test("the file of a long result is durable before the record that names it", { tags: ["OFF-06"] }, async () => {
    const order: string[] = []
    const inner = memoryStore()
    const watched = (folder: Folder): Folder => ({
      ...folder,
      create: async (name, bytes) => {
        const outcome = await folder.create(name, bytes)
        if (name.startsWith("toolResults/")) order.push(name)
        return outcome
      },
    })
    const store = { ...inner, folder: (path: string) => watched(inner.folder(path)) }
    const { runtime } = processOver(store, [big, "Done."])
    await runtime.run({
      task: "Go.",
      runId: "r",
      onEvent: ({ type }) => void (type === "tool-result" && order.push(type)),
    })
    expect(order).toEqual(["toolResults/1.0.json", "tool-result"])
  })

  test.each([
    ["of exactly the threshold", "x".repeat(2048), false],
    ["one byte over the threshold", "x".repeat(2049), true],
    ["of wide characters at the threshold", "é".repeat(1024), false],
    ["of wide characters over the threshold", `${"é".repeat(1024)}x`, true],
  ])("a result %s is stored: only if it is strictly longer", { tags: ["OFF-05"] }, async (_, text, isStored) => {
    const { store, seen } = await finish({ tools: [toolThat(() => text)] }, [big, "Done."])
    expect(await blobs(store)).toEqual(isStored ? ["1.0.json"] : [])
    expect(seen[0] === text).toBe(!isStored)
  })

  test("offloading is off unless it is configured; threshold and preview can be set", {
    tags: ["OFF-04"],
  }, async () => {
    const off = await finish({ compaction: {} }, [big, "Done."])
    expect([off.seen, await blobs(off.store), off.result.capabilitiesUsed.toolCompactionApplied]).toEqual([
      [LONG],
      [],
      false,
    ])
    const on = await finish({ compaction: { offload: { thresholdBytes: 10, maxPreviewChars: 3 } } }, [big, "Done."])
    expect(on.seen[0]).toMatch(/^beg\n\[5010 bytes/)
  })

  test("errors are never stored, however long they are", { tags: ["OFF-09"] }, async () => {
    const failing = toolThat(() => {
      throw new ToolError("io", LONG)
    })
    const { store, seen, records } = await finish({ tools: [failing] }, [big, "Done."])
    expect([await blobs(store), storedOf(records)]).toEqual([[], [undefined]])
    expect(seen[0]).toContain(LONG)
  })

  test("what FetchData returns is not stored again", { tags: ["OFF-10"] }, async () => {
    const { store, seen } = await finish({ compaction: { offload: { thresholdBytes: 1 } } }, [
      big,
      fetching("1.0"),
      fetching("1.0"),
      "Done.",
    ])
    expect(seen.slice(1)).toEqual([LONG, LONG])
    expect(await blobs(store)).toEqual(["1.0.json"])
  })

  test("the images of a long result stay in the conversation, and its texts are stored together", async () => {
    const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
    const image = { type: "image", mediaType: "image/png", data } as const
    const parts = [{ type: "text", text: LONG }, image, { type: "text", text: "after" }]
    const { records, seen } = await finish({ tools: [toolThat(() => parts)] }, [big, fetching("1.0"), "Done."])
    const outcome = records.flatMap((record) => (record.type === "tool-result" ? [record.outcome.output] : []))[0]
    expect(outcome?.map(({ type }) => type)).toEqual(["text", "image"])
    expect(seen[1]).toBe(`${LONG}\nafter`)
  })

  test.each([
    ["a limit in bytes", { maxOutputBytes: 100 }],
    ["a limit of its own, which it has applied before", { bounded: true }],
  ])("a result of a tool with %s is stored and fetched as the tool returned it", async (_, limit) => {
    const { seen, result } = await finish({ tools: [toolThat(() => LONG, limit)] }, [big, fetching("1.0"), "Done."])
    expect(seen[0]).toContain('ref "1.0"')
    expect(seen[1]).toBe(LONG)
    expect(result.warnings).toEqual([])
  })

  test("a result of 5 MB leaves a short prompt, and is fetched in parts", async () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => ({
      id,
      text: "x".repeat(80),
      needle: id === 4321 ? "here" : "",
    }))
    const text = JSON.stringify(rows)
    expect(text.length).toBeGreaterThan(5_000_000)
    const steps = [
      big,
      fetching("1.0", { pointer: "/4321/needle" }),
      fetching("1.0", { find: '"here"' }),
      fetching("1.0"),
      "Done.",
    ]
    const { model, seen, records } = await finish({ tools: [toolThat(() => rows)] }, steps)
    expect(JSON.stringify(model.calls[1]).length).toBeLessThan(2000)
    expect(seen[0]).toMatch(/^JSON array, 50000 items, \d+ bytes\. First item: \{"id":0,/)
    expect(seen[1]).toBe("here")
    expect(seen[2]).toMatch(/^offset \d+: /)
    expect(seen[3]).toContain(" for the next part.]")
    expect(storedOf(records)[0]).toEqual({ bytes: text.length })
  })

  test("JSON of 10,000 levels is stored and fetched", async () => {
    const deep = "[".repeat(10_000) + "]".repeat(10_000)
    const { seen } = await finish({ tools: [toolThat(() => deep)] }, [big, fetching("1.0"), "Done."])
    expect(seen[0]).toContain('ref "1.0"')
    expect(seen[1]).toBe(deep)
  })

  test("a store that fails keeps the result in the conversation, and the run continues", async () => {
    const inner = memoryStore()
    const failing = (folder: Folder): Folder => ({
      ...folder,
      create: (name, bytes) =>
        name.startsWith("toolResults/")
          ? Promise.reject(new LonghaulError("storage", "full", { retryable: false }))
          : folder.create(name, bytes),
    })
    const store = { ...inner, folder: (path: string) => failing(inner.folder(path)) }
    const { result, seen, records } = await finish({ store }, [big, "Done."])
    expect([result.status, seen, storedOf(records)]).toEqual(["done", [LONG], [undefined]])
    const message = "The result of big (call 1.0) could not be stored; it stays in the conversation."
    expect(result.warnings).toEqual([{ code: "offload_failed", message }])
  })
})

describe("a summarizer of the host", () => {
  const summarized = (summarizer: OffloadSettings["summarizer"], more: RuntimeConfig = {}) =>
    finish({ compaction: { offload: { summarizer } as OffloadSettings }, ...more }, [call("big", { a: 1 }), "Done."])

  test("a summarizer writes the preview and gets all that it needs", { tags: ["OFF-13"] }, async () => {
    const given: OffloadedResult[] = []
    const { seen } = await summarized((result) => {
      given.push(result)
      return `About ${result.toolName}: ask for ${result.ref}`
    })
    expect(seen).toEqual(["About big: ask for 1.0"])
    const expected = {
      toolName: "big",
      toolInput: { a: 1 },
      rawContent: LONG,
      rawBytes: 5010,
      ref: "1.0",
      maxPreviewChars: 500,
    }
    expect(given).toEqual([expected])
  })

  test.each([
    ["omits the ref", () => "short", /^short\n\[5010 bytes in all are stored\. FetchData with ref "1\.0"/],
    ["names only a part of it", () => "see 1", /^see 1\n\[5010 bytes.*"1\.0"/],
    ["returns too much", () => "y".repeat(400_000), /^y{80000}\n\[5010 bytes.*"1\.0"/],
  ])("the ref is appended if a summarizer %s", { tags: ["OFF-13"] }, async (_, summarizer, expected) => {
    const { seen, result } = await summarized(summarizer)
    expect(seen[0]).toMatch(expected)
    expect(result.warnings).toEqual([])
  })

  test.each([
    [
      "throws",
      () => {
        throw new Error("hunter2")
      },
    ],
    ["returns a number", () => 1],
    ["returns a promise that rejects", () => Promise.reject(new Error("hunter2"))],
  ])(
    "a summarizer that %s is replaced by the built-in preview and reported",
    { tags: ["OFF-13"] },
    async (_, summarizer) => {
      const { seen, result } = await summarized(summarizer as never)
      expect(seen[0]).toMatch(/^begin x+\n\[5010 bytes/)
      const message = "compaction.offload.summarizer failed for the result of big (call 1.0)."
      expect(result.warnings).toEqual([{ code: "summarizer_failed", message }])
    },
  )

  test("a secret in the text of a summarizer is masked", async () => {
    const secrets = { TOKEN: "hunter2-hunter2-hunter2" }
    const { seen } = await summarized(() => `hunter2-hunter2-hunter2 1.0`, { secrets })
    expect(seen[0]).not.toContain("hunter2")
  })
})

describe("the tool FetchData", () => {
  const offered = ({ records }: { readonly records: readonly RunRecord[] }) =>
    records.flatMap((record) => (record.type === "run-start" ? record.tools.map(({ name }) => name) : []))

  test.each([[{}], [false], [{ offload: false }]] as const)(
    "without the setting (%j) there is no tool, no check and no write",
    { tags: ["OFF-14"] },
    async (compaction) => {
      const { store, reads, creates } = watchedStore()
      const { seen } = await finish({ store, compaction }, [big, fetching("1.0"), "Done."])
      expect(seen[0]).toBe(LONG)
      expect(seen[1]).toContain('\\"FetchData\\" is not an available tool')
      expect([...reads, ...creates].filter(isResult)).toEqual([])
    },
  )

  test.each([
    ["the runtime", { disabledTools: ["FetchData"] }, {}],
    ["the run", {}, { disabledTools: ["FetchData"] }],
    ["an allow list of the runtime without it", { allowedTools: ["big"] }, {}],
    ["an allow list of the run without it", {}, { allowedTools: ["big"] }],
    [
      "the runtime, although the run asks for offloading",
      { disabledTools: ["FetchData"], compaction: {} },
      { compaction: { offload: true } },
    ],
  ])(
    "if %s removes FetchData, nothing is stored, since the model could not get it back",
    { tags: ["OFF-14"] },
    async (_, config, run) => {
      const finished = await finish(config, [big, "Done."], run)
      expect(offered(finished)).toEqual(["big"])
      expect([finished.seen, await blobs(finished.store)]).toEqual([[LONG], []])
    },
  )

  test("a run has its own setting, in both directions", { tags: ["OFF-14"] }, async () => {
    const on = await finish({ compaction: {} }, [big, "Done."], { compaction: { offload: { thresholdBytes: 100 } } })
    expect([offered(on), await blobs(on.store)]).toEqual([["big", "FetchData"], ["1.0.json"]])
    const off = await finish({}, [big, "Done."], { compaction: { offload: false } })
    expect([offered(off), await blobs(off.store)]).toEqual([["big"], []])
    const named = await finish({ allowedTools: ["big", "FetchData"] }, [big, "Done."])
    expect(offered(named)).toEqual(["big", "FetchData"])
  })

  test("a tool of the host named FetchData is a conflict only where results are offloaded", async () => {
    const own = toolThat(() => "mine", { name: "FetchData" })
    expect(() => createRuntime({ tools: [own], compaction: { offload: true } })).toThrow(
      'Two tools are named "FetchData"',
    )
    const { seen } = await finish({ tools: [own], compaction: {} }, [fetching("1.0"), "Done."])
    expect(seen).toEqual(["mine"])
  })

  test.each([
    ["a parent folder", "../1.0"],
    ["a longer way up", "../../main/toolResults/1.0"],
    ["an absolute path", "/etc/passwd"],
    ["an encoded path", "%2e%2e%2f1.0"],
    ["a file name", "1.0.json"],
    ["a journal", "000000.jsonl"],
    ["a NUL", "1.0\0"],
    ["an empty ref", ""],
    ["a name of Object", "__proto__"],
    ["a name of Map", "constructor"],
    ["a call that was never made", "7.0"],
    ["itself", "2.0"],
  ])("a ref that is %s finds nothing, and no file is read for it", { tags: ["OFF-11"] }, async (_, ref) => {
    const { store, reads } = watchedStore()
    const { seen } = await finish({ store }, [big, fetching(ref), "Done."])
    expect(JSON.parse(seen[1] ?? "").error.code).toBe("not_found")
    expect(reads.filter((name) => !/^(\d+\.jsonl|inbox\/\d+\.json|store\.json)$/.test(name))).toEqual([])
  })

  test("no ref leads to another run, another node or another tenant", { tags: ["OFF-11"] }, async () => {
    const store = memoryStore()
    const secret = [toolThat(() => `secret ${LONG}`)]
    await finish({ store, tools: secret }, [big, big, "Done."], { runId: "other" })
    await finish({ store, tools: secret }, [big, big, "Done."], { nodeId: "other" })
    await finish({ store, tools: secret, workspaceId: "tenant" }, [big, big, "Done."])
    const refs = [
      "2.0",
      "other/2.0",
      "../other/2.0",
      "tenant",
      "workspaces/tenant/.longhaul/projects/r/nodes/main/toolResults/2.0.json",
    ]
    const { model, seen } = await finish({ store }, [big, ...refs.map((ref) => fetching(ref)), "Done."])
    expect(seen).toHaveLength(1 + refs.length)
    expect(JSON.stringify(model.calls)).not.toContain("secret")
  })

  test("FetchData returns a short result from the journal, as for one that was pruned from the conversation", async () => {
    const { seen } = await finish({ tools: [toolThat(() => "short")] }, [big, fetching("1.0"), "Done."])
    expect(seen[1]).toBe("short")
  })

  test("FetchData returns the result of a call that is older than all calls in memory", async () => {
    const many: ScriptedStep = { parts: Array.from({ length: 550 }, () => ({ toolCall: { name: "tiny", args: {} } })) }
    const tiny = defineTool({
      name: "tiny",
      description: "Returns little.",
      inputSchema: input,
      effect: "none",
      run: () => "little",
    })
    const { seen, result } = await finish({ tools: [toolThat(() => LONG), tiny] }, [
      big,
      many,
      many,
      fetching("1.0"),
      fetching("2.7"),
      "Done.",
    ])
    expect(result.toolCalls.some(({ id }) => id === "1.0")).toBe(false)
    expect(result.capabilitiesUsed.toolCompactionApplied).toBe(true)
    expect(seen.slice(-2)).toEqual([LONG, "little"])
  })

  test("a result whose file was lost is returned as far as the journal has it, and says so", async () => {
    const store = memoryStore()
    const lose: ScriptedStep = async () => {
      await store.folder(runPath(key)).delete("toolResults/1.0.json")
      return { parts: [{ toolCall: { name: "FetchData", args: { ref: "1.0" } } }] }
    }
    const { seen } = await finish({ store }, [big, lose, "Done."])
    expect(seen[1]).toMatch(/^begin x+\n.*\n\[The rest of this result is no longer stored\. Run the tool again/)
  })

  test("the results of several calls of one step are stored and fetched apart", async () => {
    let count = 0
    const tools = [toolThat(() => `${count++} ${LONG}`)]
    const both: ScriptedStep = { parts: [0, 1].map(() => ({ toolCall: { name: "big", args: {} } })) }
    const fetchBoth: ScriptedStep = {
      parts: ["1.0", "1.1"].map((ref) => ({ toolCall: { name: "FetchData", args: { ref } } })),
    }
    const { seen } = await finish({ tools }, [both, fetchBoth, "Done."])
    expect(seen.slice(2).map((text) => text.slice(0, 7))).toEqual(["0 begin", "1 begin"])
  })

  test("a cut result that was saved as an artifact is fetched whole", { tags: ["OFF-02"] }, async () => {
    const workspace = mkdtempSync(join(scratch, "workspace-"))
    const text = "0123456789".repeat(30_000)
    const model = scriptedModel([big, fetching("1.0", { offset: 299_990 }), "Done."])
    const compaction = { offload: { thresholdBytes: 10_000_000 } }
    const runtime = createNodeRuntime({
      store: fsStore(freshRoot()),
      workspace,
      model,
      tools: [toolThat(() => text)],
      compaction,
    })
    await runtime.run({ task: "Go.", runId: "r" })
    const [cut = "", fetched] = received(model.calls.at(-1))
    expect(cut).toMatch(/the complete output is at .*1\.0-big\.txt, or from FetchData with ref "1\.0"\]/)
    expect(fetched).toBe("0123456789\n[Characters 299990 to 299999 of 300000. This is the end.]")
    await runtime.close()
  })
})

describe("offloading and safety", () => {
  test("a secret is masked in the stored file, the preview and what is fetched", async () => {
    const secrets = { TOKEN: "hunter2-hunter2-hunter2" }
    const tools = [toolThat(() => `hunter2-hunter2-hunter2 ${LONG} hunter2-hunter2-hunter2`)]
    const { store, model } = await finish({ tools, secrets }, [big, fetching("1.0"), "Done."])
    expect(await blobOf(store)).toContain("begin")
    expect((await blobOf(store)) + JSON.stringify(model.calls)).not.toContain("hunter2")
  })

  const NUMBER = "123-45-6789"
  const rule: Policy = {
    rules: [{ allow: { tool: "*" } }],
    output: [{ block: { tool: "big", pattern: "\\d{3}-\\d{2}-\\d{4}" }, reason: "A number." }],
  }
  const scan = vi.fn<PolicyService["scan"]>(async (_call, { text }) =>
    text.includes(NUMBER) ? { decision: "block", reason: "A number." } : { decision: "allow" },
  )
  const service: Policy = { services: [{ decide: async () => ({ decision: "allow" }), scan }] }

  test.each([
    ["a rule", rule],
    ["a service", service],
  ])("an output that %s blocks is never stored", async (_, policy) => {
    const { store, creates } = watchedStore()
    const tools = [toolThat(() => `${LONG} ${NUMBER}`)]
    const { result, model } = await finish({ store, tools, policy }, [big, fetching("1.0"), "Done."])
    expect(result.toolCalls[0]).toMatchObject({
      status: "error",
      error: "big ran, but its output was withheld: A number.",
    })
    expect(creates.filter(isResult)).toEqual([])
    expect(JSON.stringify([model.calls, result])).not.toContain(NUMBER)
  })

  test("an output that passes is stored, and a service scans it once and whole", async () => {
    scan.mockClear()
    const { seen } = await finish({ policy: service }, [big, fetching("1.0"), "Done."])
    expect(seen[1]).toBe(LONG)
    expect(scan.mock.calls.map(([{ tool }, { text }]) => [tool, text])).toEqual([
      ["big", LONG],
      ["FetchData", LONG],
    ])
  })

  test.each(["read-only", "workspace-write", "locked-down"] as const)(
    "the preset %s allows FetchData",
    async (preset) => {
      const policy: Policy = { extends: preset, rules: [{ allow: { tool: "Read", path: "**" } }] }
      const tools = [toolThat(() => LONG, { name: "Read" })]
      const { seen } = await finish({ tools, policy }, [call("Read", { path: "a" }), fetching("1.0"), "Done."])
      expect(seen[1]).not.toContain("denied")
    },
  )

  test("a policy can deny FetchData", async () => {
    const policy: Policy = { rules: [{ allow: { tool: "*" } }, { deny: { tool: "FetchData" }, reason: "No." }] }
    const { result } = await finish({ policy }, [big, fetching("1.0"), "Done."])
    expect(result.toolCalls[1]).toMatchObject({ status: "denied" })
  })
})

describe("offloading and the life of a run", () => {
  const gate: RuntimeConfig = {
    hooks: {
      gateBeforeTool: (name) => (name === "ship" ? { allow: false, reason: "Ask." } : { allow: true }),
    },
  }
  const ship = defineTool({ name: "ship", description: "Ships.", inputSchema: input, run: () => "shipped" })
  const tools = [toolThat(() => LONG), ship]

  test.each([
    ["the runtime has the setting", { offload: true }, undefined],
    ["only the run had the setting", {}, { offload: { thresholdBytes: 3000 } }],
  ])("refs survive a resume by another runtime: %s", { tags: ["OFF-12", "PAU-06"] }, async (_, compaction, own) => {
    const store = fsStore(freshRoot())
    const first = processOver(store, [big, call("ship")], { tools, ...gate, compaction })
    const paused = await first.runtime.run({ task: "Go.", runId: "r", ...(own && { compaction: own }) })
    expect(paused.status).toBe("paused")
    // This process has no settings at all.
    const second = processOver(store, [fetching("1.0"), "Done."], { tools, ...gate, compaction: {} })
    const result = await second.runtime.resume({ runId: "r", decision: "approve" })
    expect(result.status).toBe("done")
    expect(received(second.model.calls.at(-1)).at(-1)).toBe(LONG)
    expect(result.warnings).toEqual([])
  })

  test("a resume can turn offloading on, and off again without losing the refs", async () => {
    const store = memoryStore()
    const config = { tools, ...gate, compaction: {} }
    await processOver(store, [call("ship")], config).runtime.run({ task: "Go.", runId: "r" })
    const second = processOver(store, [big, call("ship")], config)
    await second.runtime.resume({ runId: "r", decision: "approve", compaction: { offload: true } })
    expect(await blobs(store)).toEqual(["2.0.json"])
    const third = processOver(store, [big, fetching("2.0"), "Done."], config)
    await third.runtime.resume({ runId: "r", decision: "approve", compaction: false })
    expect(received(third.model.calls.at(-1)).slice(-2)).toEqual([LONG, LONG])
    expect(await blobs(store)).toEqual(["2.0.json"])
  })

  test("a fork has its own copies: its refs work after the original was removed", async () => {
    const store = memoryStore()
    const { runtime } = await finish({ store }, [big, big, "Done."])
    await runtime.fork("r", { newRunId: "copy" })
    expect(await blobs(store, "copy")).toEqual(["1.0.json", "2.0.json"])
    await runtime.remove("r")
    const other = processOver(store, [fetching("1.0"), "Done."])
    await other.runtime.resume({ runId: "copy", answer: "Again." })
    expect(received(other.model.calls.at(-1)).at(-1)).toBe(LONG)
  })

  test("a fork copies only the results that its records name", async () => {
    const store = memoryStore()
    const { runtime, records } = await finish({ store }, [big, big, "Done."])
    const at = records.findIndex(({ type }) => type === "turn-end")
    await runtime.fork("r", { at, newRunId: "copy" })
    expect(await blobs(store, "copy")).toEqual(["1.0.json"])
  })

  test("a fork into a folder with other files of the same names serves its own", async () => {
    const store = memoryStore()
    const { runtime } = await finish({ store }, [big, "Done."])
    await store
      .folder(runPath({ ...key, runId: "copy" }))
      .create("toolResults/1.0.json", new TextEncoder().encode("planted"))
    await runtime.fork("r", { newRunId: "copy" })
    const other = processOver(store, [fetching("1.0"), "Done."])
    await other.runtime.resume({ runId: "copy", answer: "Again." })
    expect(received(other.model.calls.at(-1)).at(-1)).toBe(LONG)
  })

  test("the next exchange of a conversation does not take an old ref for one of its own", async () => {
    const store = memoryStore()
    await finish({ store }, [big, "Done."])
    const second = processOver(store, [big, fetching("1.0"), "Done."], { tools: [toolThat(() => `new ${LONG}`)] })
    await second.runtime.continue("r", "And now?")
    const [before, , after] = received(second.model.calls.at(-1))
    expect(before).toMatch(/\[This is from an earlier exchange: FetchData no longer returns it\./)
    expect(after).toBe(`new ${LONG}`)
    expect(await blobs(store, "r", "main__2")).toEqual(["1.0.json"])
  })

  test("an attempt that finds a file of an earlier one uses it if it is equal, and otherwise another", async () => {
    const store = memoryStore()
    const folder = store.folder(runPath(key))
    await folder.create(
      "toolResults/1.0.json",
      new TextEncoder().encode(JSON.stringify({ v: 1, callId: "1.0", tool: "big", text: LONG })),
    )
    await folder.create(
      "toolResults/2.0.json",
      new TextEncoder().encode(JSON.stringify({ v: 1, callId: "2.0", tool: "big", text: "stale" })),
    )
    const { seen, records } = await finish({ store }, [big, big, fetching("1.0"), fetching("2.0"), "Done."])
    expect(seen.slice(2)).toEqual([LONG, LONG])
    expect(storedOf(records)).toEqual([{ bytes: 5010 }, { bytes: 5010, attempt: 1 }, undefined, undefined])
    expect(await blobs(store)).toEqual(["1.0.json", "2.0.json", "2.0~1.json"])
  })

  test("an early call of an answer that failed leaves a file that is never served", async () => {
    const { store, creates } = watchedStore()
    let runs = 0
    const model = scriptedModel([big, fetching("1.0"), "Done."])
    const flaky: Model = {
      ...model,
      converse(setup) {
        const conversation = model.converse(setup)
        let attempt = 0
        return {
          async call(messages, sink, signal) {
            if (attempt++ > 0) return conversation.call(messages, sink, signal)
            sink.call?.({ type: "tool-call", wireId: "w", name: "big", args: {} }, 0)
            await until(() => creates.some(isResult))
            throw new LonghaulError("overloaded", "Try again.", { retryable: true })
          },
        }
      },
    }
    const early = [toolThat(() => `attempt ${++runs} ${LONG}`)]
    await createRuntime({ store, model: flaky, tools: early, compaction: { offload: true } }).run({
      task: "Go.",
      runId: "r",
    })
    const [preview = "", fetched = ""] = received(model.calls.at(-1))
    expect(await blobs(store)).toEqual(["1.0.json", "1.0~1.json"])
    expect([preview.slice(0, 9), fetched]).toEqual(["attempt 2", `attempt 2 ${LONG}`])
  })

  test("the choice of a backend by its features is the same with FetchData", async () => {
    const script = () => "Done."
    const plain = fakeBackend({ name: "plain", script, capabilities: { features: ["tools"] } })
    const web = fakeBackend({ name: "web", script, capabilities: { features: ["tools", "web_access"] } })
    for (const offload of [false, true]) {
      const runtime = createRuntime({
        store: memoryStore(),
        backend: "auto",
        backends: [plain, web],
        compaction: { offload },
      })
      expect(await runtime.run({ task: "Go." })).toMatchObject({ status: "done", backend: "plain" })
    }
  })

  test("a run on another backend has its long results stored, and its model fetches them", async () => {
    const seen: string[] = []
    const script = ({ messages }: SimulatedRequest) => {
      const results = messages.flatMap(({ toolResults }) => toolResults.map(({ text }) => text))
      seen.splice(0, seen.length, ...results)
      if (results.length === 0) return { parts: [{ toolCall: { name: "big", args: {} } }] }
      const ref = /ref "([^"]+)"/.exec(results[0] ?? "")?.[1] ?? ""
      return results.length === 1 ? { parts: [{ toolCall: { name: "FetchData", args: { ref } } }] } : "Done."
    }
    const store = memoryStore()
    const runtime = createRuntime({
      store,
      backend: fakeBackend({ script }),
      tools: [toolThat(() => LONG)],
      compaction: { offload: true },
    })
    expect(await runtime.run({ task: "Go.", runId: "r" })).toMatchObject({ status: "done" })
    expect(seen[1]).toBe(LONG)
    expect(await blobs(store)).toHaveLength(1)
  })
})

test("the file of a result is at the documented place on a disk", { tags: ["OFF-06"] }, async () => {
  const root = freshRoot()
  await finish({ store: fsStore(root) }, [big, "Done."])
  const path = "workspaces/default/.longhaul/projects/r/nodes/main/toolResults/1.0.json"
  expect(JSON.parse(readFileSync(join(root, path), "utf8")).text).toBe(LONG)
})
