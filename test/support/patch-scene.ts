import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { Files } from "../../src/contract/env.ts"
import { nodeFiles } from "../../src/hosts/node/files/files.ts"
import { createDispatcher } from "../../src/tools/kernel/dispatch.ts"
import { createToolContext } from "../../src/tools/kernel/tool-context.ts"
import { memoryFiles } from "../../src/tools/memory-files.ts"
import { applyPatchTool } from "../../src/tools/patch/apply-patch.ts"

/** Files by their paths; text is UTF-8. */
export type Tree = Readonly<Record<string, string | Uint8Array>>

export interface Patched {
  /** The tool's response: the report, or the code and message of the rejection. */
  readonly told: string
  readonly code: string
  /** Every file afterwards, byte by byte as Latin-1. */
  readonly after: Readonly<Record<string, string>>
}

/** Where patches are applied: the same cases must give the same results. Close it: it holds a folder. */
export class PatchScene {
  readonly #base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-patch-")))
  #count = 0

  readonly kinds = { "in memory": memory, "on disk": (tree: Tree) => this.disk(tree) }

  disk(tree: Tree): Place {
    const cwd = join(this.#base, `ws-${this.#count++}`)
    mkdirSync(cwd)
    for (const [path, content] of Object.entries(tree)) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true })
      writeFileSync(join(cwd, path), content)
    }
    return { files: nodeFiles({ roots: [cwd], redoFolder: join(this.#base, "redo") }), cwd }
  }

  close(): void {
    rmSync(this.#base, { recursive: true, force: true })
  }
}

export interface Place {
  readonly files: Files
  readonly cwd: string
}

export function memory(tree: Tree): Place {
  return { files: memoryFiles(tree), cwd: "/" }
}

const dispatcher = createDispatcher([applyPatchTool()])

export async function patch({ files, cwd }: Place, text: string): Promise<Patched> {
  const context = createToolContext({ cwd, env: { files } })
  const { isError, text: told } = await dispatcher.callTool("ApplyPatch", { patch: text }, context)
  const after = Object.fromEntries(await filesBelow(files, ".", cwd))
  if (!isError) return { told, code: "ok", after }
  const { error } = JSON.parse(told) as { error: { code: string; message: string } }
  return { told: error.message, code: error.code, after }
}

export function asLatin1(content: string | Uint8Array): string {
  return Buffer.from(content as string).toString("latin1")
}

async function filesBelow(files: Files, folder: string, cwd: string): Promise<[path: string, content: string][]> {
  const found: [path: string, content: string][] = []
  for (const { name, kind } of await files.list(folder, cwd)) {
    const path = folder === "." ? name : `${folder}/${name}`
    if (kind === "folder") found.push(...(await filesBelow(files, path, cwd)))
    else found.push([path, asLatin1(await files.read(path, cwd))])
  }
  return found.sort(([left], [right]) => (left < right ? -1 : 1))
}

/** A patch and its result. */
export interface PatchCase {
  readonly name: string
  readonly before: Tree
  readonly patch: string
  readonly after: Tree
  /** The tool's response. */
  readonly told: string
}

/** A place of each kind: the same cases must give the same results in both. */
export function describePatches(what: string, cases: readonly PatchCase[]): void {
  const scene = new PatchScene()
  afterAll(() => scene.close())
  describe.each(Object.entries(scene.kinds))(`${what} %s`, (_, create) => {
    test.each(cases)("$name", async ({ before, patch: text, after, told }) => {
      const contents = Object.entries(after).map(([path, content]) => [path, asLatin1(content)])
      expect(await patch(create(before), text)).toEqual({ told, code: "ok", after: Object.fromEntries(contents) })
    })
  })
}

export const lines = (...each: readonly string[]) => `${each.join("\n")}\n`
export const envelope = (...each: readonly string[]) => lines("*** Begin Patch", ...each, "*** End Patch")
export const update = (path: string, ...each: readonly string[]) => envelope(`*** Update File: ${path}`, ...each)
export const diff = (path: string, ...each: readonly string[]) => lines(`--- a/${path}`, `+++ b/${path}`, ...each)

export const abc = lines("a", "b", "c")
export const python = lines(
  "class A:",
  "    def f(self):",
  "        pass",
  "",
  "class B:",
  "    def f(self):",
  "        pass",
)
