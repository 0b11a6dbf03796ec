import { expect, test } from "vitest"
import { until } from "../../../test/support/watchdog.ts"
import type { Artifact, ArtifactStore, PersistArtifact } from "../../contract/artifacts.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RunRecord } from "../../contract/event.ts"
import type { RunKey } from "../../contract/store.ts"
import { createRuntime, defineTool, type RuntimeConfig, type ToolContext } from "../../index.ts"
import { type ScriptedStep, scriptedModel } from "../../testing/index.ts"

/** About 300,000 bytes with a recognisable start and end. */
const LONG = `begin ${"é".repeat(150_000)} end`
const input = { type: "object" } as const
const long = defineTool({
  name: "long",
  description: "Says much.",
  inputSchema: input,
  effect: "none",
  run: () => LONG,
})
const image = {
  type: "image",
  mediaType: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=",
} as const
const call = (name: string) => ({ parts: [{ toolCall: { name, args: {} } }] })

async function finish(config: RuntimeConfig, steps: readonly ScriptedStep[] = [call("long"), "Done."]) {
  const model = scriptedModel(steps)
  const runtime = createRuntime({ model, tools: [long], ...config })
  const result = await runtime.run({ task: "Go.", runId: "r1" })
  const records: RunRecord[] = []
  for await (const record of runtime.events("r1")) records.push(record)
  return { result, records, model }
}

const bytesOf = (text: string | null | undefined) => new TextEncoder().encode(text ?? "").length

test("a result over the cap is passed on completely; the transcript has both ends and its path", {
  tags: ["HOST-04", "OFF-01", "OFF-02", "TOOL-03"],
}, async () => {
  const persisted: Parameters<PersistArtifact>[0][] = []
  const persistArtifact: PersistArtifact = (artifact) => {
    persisted.push(artifact)
    return "/kept/long.txt"
  }
  const { result, records } = await finish({ persistArtifact })
  expect(result.status).toBe("done")
  expect(persisted.map(({ filename, toolName, toolUseId }) => [filename, toolName, toolUseId])).toEqual([
    ["1.0-long.txt", "long", "1.0"],
  ])
  expect(new TextDecoder().decode(persisted[0]?.buffer)).toBe(LONG)

  const text = result.toolCalls[0]?.result ?? ""
  expect(bytesOf(text)).toBeLessThanOrEqual(256 * 1024)
  expect(text.length).toBeLessThanOrEqual(100_000)
  const [head = "", marker, tail = ""] = text.split("\n")
  expect(marker).toMatch(/^\[cut: \d+ bytes omitted; the complete output is at \/kept\/long\.txt\]$/)
  expect(LONG.startsWith(head) && LONG.endsWith(tail)).toBe(true)
  expect(Number(marker?.match(/\d+/)?.[0])).toBe(bytesOf(LONG) - bytesOf(head) - bytesOf(tail))

  const message = "The result of long (call 1.0) was cut; all of it is at /kept/long.txt."
  const warning = { code: "tool_payload_truncated", message, paths: ["/kept/long.txt"] }
  expect(result.warnings).toEqual([warning])
  expect(records.filter(({ type }) => type === "warning")).toMatchObject([warning])
})

test("a result with few characters and many bytes is cut at 256 KB and passed on completely", {
  tags: ["OFF-01"],
}, async () => {
  const wide = "潮".repeat(90_000)
  const kept: number[] = []
  const tools = [
    defineTool({ name: "long", description: "Says much.", inputSchema: input, effect: "none", run: () => wide }),
  ]
  const { result } = await finish({ tools, persistArtifact: ({ buffer }) => `/kept/${kept.push(buffer.length)}` })
  expect(kept).toEqual([bytesOf(wide)])
  expect(bytesOf(result.toolCalls[0]?.result)).toBeLessThanOrEqual(256 * 1024)
  expect(result.toolCalls[0]?.result).toContain("the complete output is at /kept/1]")
})

test("without a destination, or if it declines, a result is cut and says so", {
  tags: ["OFF-03", "TOOL-03"],
}, async () => {
  for (const config of [{}, { persistArtifact: () => null }]) {
    const { result } = await finish(config)
    expect(result.toolCalls[0]?.result).toMatch(/^begin é+\n\[cut: \d+ bytes omitted\]$/)
    expect(result.warnings).toEqual([])
  }
})

test("a failing destination loses the artifact, not the run, and is reported", async () => {
  const failures: readonly PersistArtifact[] = [
    () => {
      throw new Error("the password is hunter2")
    },
    () => Promise.reject(new LonghaulError("storage", "full")),
  ]
  for (const persistArtifact of failures) {
    const { result } = await finish({ persistArtifact })
    expect(result.status).toBe("done")
    expect(result.toolCalls[0]).toMatchObject({ status: "ok" })
    expect(result.toolCalls[0]?.result).toMatch(/é\n\[cut: \d+ bytes omitted; it could not be saved\]$/)
    const message = "The result of long (call 1.0) was cut; it could not be saved."
    expect(result.warnings).toEqual([{ code: "tool_payload_truncated", message }])
  }
})

test("only cut results are saved: none that fits, no error, and none that a tool bounds itself", async () => {
  const saved: Artifact[] = []
  const artifacts: ArtifactStore = {
    async save(_run, artifact) {
      saved.push(artifact)
      return "/kept"
    },
  }
  const tools = [
    defineTool({ name: "fits", description: "x", inputSchema: input, run: () => "x".repeat(100_000) }),
    defineTool({ name: "bounded", description: "x", inputSchema: input, bounded: true, run: () => LONG }),
    defineTool({
      name: "fails",
      description: "x",
      inputSchema: input,
      run() {
        throw Object.assign(new Error(LONG), { name: "ToolError", code: "io" })
      },
    }),
  ]
  const steps = [call("fits"), call("bounded"), call("fails"), "Done."]
  const { result } = await finish({ artifacts, tools, compaction: false }, steps)
  expect(result.toolCalls.map(({ status }) => status)).toEqual(["ok", "ok", "error"])
  expect(saved).toEqual([])
  expect(result.warnings).toEqual([])
})

test("an artifact store knows the run and can change what its tools access", async () => {
  const seen: [RunKey, string][] = []
  const artifacts: ArtifactStore = {
    async save(run, { filename }) {
      seen.push([run, filename])
      return `kept:${filename}`
    },
    environment: (env, { runId }) => ({ ...env, files: { ...env.files, ofRun: runId } as never }),
  }
  const tool = { ...long, name: "look/../up", run: (_: unknown, { env }: ToolContext) => JSON.stringify(env) + LONG }
  const { result } = await finish({ artifacts, tools: [tool] }, [call("look/../up"), "Done."])
  const tenant = expect.stringMatching(/^[0-9a-f]{32}$/)
  const key = { workspaceId: "default", tenant, runId: "r1", nodeId: "main" }
  expect(seen).toEqual([[key, "1.0-look.up.txt"]])
  expect(result.toolCalls[0]?.result).toMatch(/^\{"files":\{"ofRun":"r1"\}\}begin/)
})

test("artifacts of a failed attempt are not reported", async () => {
  let saves = 0
  const model = scriptedModel([call("long"), "Done."])
  const flaky = {
    ...model,
    converse(setup: Parameters<typeof model.converse>[0]) {
      const conversation = model.converse(setup)
      let attempt = 0
      return {
        async call(...[messages, sink, signal]: Parameters<typeof conversation.call>) {
          if (attempt++ > 0) return conversation.call(messages, sink, signal)
          sink.call?.({ type: "tool-call", wireId: "w", name: "long", args: {} }, 0)
          await until(() => saves > 0)
          throw new LonghaulError("overloaded", "Try again.", { retryable: true })
        },
      }
    },
  }
  const persistArtifact: PersistArtifact = async () => `/kept/${++saves}`
  const runtime = createRuntime({ model: flaky, tools: [long], persistArtifact })
  const result = await runtime.run({ task: "Go." })
  expect(result.status).toBe("done")
  expect(saves).toBe(2)
  expect(result.warnings.map(({ paths }) => paths)).toEqual([["/kept/2"]])
})

test("an image from a tool is stored unchanged in the journal and the next request, and as text in the result", async () => {
  const shot = defineTool({
    name: "shot",
    description: "x",
    inputSchema: input,
    run: () => [{ type: "text", text: "Here:" }, image],
  })
  const { result, records, model } = await finish({ tools: [shot] }, [call("shot"), "Done."])
  const output = [{ type: "text", text: "Here:" }, image]
  expect(records.find(({ type }) => type === "tool-result")).toMatchObject({ outcome: { status: "ok", output } })
  expect(model.calls[1]?.at(-1)).toMatchObject({ role: "tool", content: [{ callId: "1.0", output }] })
  expect(result.toolCalls[0]?.result).toBe("Here:\n[image: image/png]")
})
