import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect } from "vitest"
import type { JsonObject } from "../../src/contract/json.ts"
import type { Policy } from "../../src/contract/policy.ts"
import type { RunResult } from "../../src/contract/result.ts"
import type { Tool } from "../../src/contract/tool.ts"
import { createRuntime, nodeFiles, nodeSearch } from "../../src/hosts/node/index.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { scriptedModel } from "../../src/testing/index.ts"
import { fileTools, notebookEditTool } from "../../src/tools/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"
import { fileSamples, type Sample } from "./tool-samples.ts"

const samples = await fileSamples()
/** Every kind of call that reads or writes files, by the declarations of the tools. */
export const named = samples.map((sample) => [`${sample.tool} of ${sample.what}`, sample] as const)
export const argsOf = (sample: Sample) => sample.args("x/key.txt", "x")

let root = ""

export const inRoot = (path: string) => join(root, path)

beforeEach(() => {
  // In memory if possible: thousands of synced writes would wear the disk needlessly.
  root = realpathSync(mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "longhaul-links-")))
  fill()
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function fill(): void {
  mkdirSync(join(root, "secrets"))
  mkdirSync(join(root, "plain"))
  writeFileSync(join(root, "secrets/key.txt"), "CANARY\n")
  writeFileSync(join(root, "secrets/only-there.txt"), "")
  refill()
  lead("plain")
}

/** What has leaked from the denied folder, or was changed in it. */
export function harm(texts: readonly string[]): readonly string[] {
  const told = texts.filter((text) => /CANARY|only-there/.test(text))
  const moved = existsSync(join(root, "out.txt")) && /CANARY/.test(readFileSync(join(root, "out.txt"), "utf8"))
  const entries = readdirSync(join(root, "secrets"))
  const key = entries.includes("key.txt") ? readFileSync(join(root, "secrets/key.txt"), "utf8") : "removed"
  return [
    ...told,
    ...(moved ? ["moved out"] : []),
    ...(key === "CANARY\n" ? [] : [`key.txt: ${key}`]),
    ...entries.filter((name) => name !== "key.txt" && name !== "only-there.txt"),
  ]
}

export const textsOf = ({ toolCalls }: RunResult) => toolCalls.map(({ result }) => JSON.stringify(result ?? null))

/** All calls are made in one turn. The tool Prepare makes `x` a link to the denied folder. */
export async function turn(
  calls: readonly (readonly [string, JsonObject])[],
  policy: Policy,
  { withRipgrep = false, tools: more = [] }: { readonly withRipgrep?: boolean; readonly tools?: readonly Tool[] } = {},
) {
  const prepare = defineTool({
    name: "Prepare",
    description: "Prepares.",
    inputSchema: { type: "object" },
    risk: "low",
    run: () => {
      lead("secrets")
      return "done"
    },
  })
  const model = scriptedModel([{ parts: calls.map(([name, args]) => ({ toolCall: { name, args } })) }, "end"])
  const search = nodeSearch({ roots: [root] })
  const env = { files: nodeFiles({ roots: [root] }), ...(withRipgrep && { search }) }
  const tools = [...fileTools(), notebookEditTool(), prepare, ...more]
  await using runtime = createRuntime({ workspace: root, store: memoryStore(), model, tools, env, policy })
  const result = await runtime.run({ task: "go" })
  expect(result.toolCalls).toHaveLength(calls.length)
  return result
}

export const denies: Policy = { default: "allow", rules: [{ deny: { path: "secrets/**" } }] }
export const permits: Policy = {
  default: "deny",
  rules: [
    { allow: { tool: "Prepare" } },
    { allow: { read: ["x/**", "plain/**"] } },
    { allow: { write: ["x/**", "plain/**", "out.txt"] } },
    { allow: { read: "planted.txt" } },
    { allow: { write: "planted.txt" } },
  ],
}

/** Makes `x` a link to a folder. */
export function lead(folder: "plain" | "secrets"): void {
  rmSync(join(root, "x"), { force: true })
  symlinkSync(folder, join(root, "x"))
}

/** Undoes what calls have changed in the folder that they may use. */
export function refill(): void {
  for (const name of readdirSync(join(root, "plain"))) {
    if (name !== "key.txt") rmSync(join(root, "plain", name), { recursive: true })
  }
  rmSync(join(root, "out.txt"), { force: true })
  writeFileSync(join(root, "plain/key.txt"), "harmless\n")
  writeFileSync(join(root, "planted.txt"), "PLANTED\n")
}
