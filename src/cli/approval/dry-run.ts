import type { Files } from "../../contract/env.ts"
import type { Json } from "../../contract/json.ts"
import { ToolError } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"

/**
 * A file before and after a call. Null: the file does not exist. `before` is a byte count if the file is too large to
 * compare.
 */
export interface PlannedChange {
  readonly path: string
  readonly before: Uint8Array | number | null
  readonly after: Uint8Array | null
}

/** The changes that a call would make now, or the reason it would fail. */
export type DryRun =
  | { readonly ok: true; readonly changes: readonly PlannedChange[] }
  | { readonly ok: false; readonly reason: string }

/** The tools whose calls can be tried: their only effect is on the files they write. */
export const triedTools: readonly string[] = ["Write", "Edit", "MultiEdit", "ApplyPatch"]

/** Runs the real tool on the real files and captures its writes instead of making them. */
export async function dryRun(
  call: { readonly name: string; readonly args: Json },
  files: Files,
  cwd: string,
): Promise<DryRun> {
  const { createDispatcher, fileTools } = await import("../../tools/index.ts")
  const changes: PlannedChange[] = []
  const outcome = await createDispatcher(fileTools()).dispatch(call, {
    signal: new AbortController().signal,
    idempotencyKey: "",
    workspaceId: "",
    runId: "",
    runScope: "",
    callId: "",
    cwd,
    env: { files: recording(files, changes) },
    progress: () => {},
  })
  if (outcome.status === "ok") return { ok: true, changes }
  return { ok: false, reason: plainText(outcome.output, "\n") }
}

function recording(files: Files, changes: PlannedChange[]): Files {
  async function before(path: string, cwd: string): Promise<PlannedChange["before"]> {
    try {
      const { size } = await files.info(path, cwd)
      return size > mostCompared ? size : await files.read(path, cwd)
    } catch (error) {
      if (error instanceof ToolError && error.code === "not_found") return null
      throw error
    }
  }
  const record = async (path: string, cwd: string, after: Uint8Array | null) => {
    const change = { path: files.display(path, cwd), before: await before(path, cwd), after }
    changes.push(change)
    return change
  }
  return {
    display: files.display,
    info: files.info,
    read: files.read,
    list: files.list,
    async write(path, cwd, bytes, options) {
      if (options?.version !== undefined && (await files.info(path, cwd)).version !== options.version) {
        throw new ToolError("conflict", `${files.display(path, cwd)} has changed since it was read.`)
      }
      return { created: (await record(path, cwd, bytes)).before === null }
    },
    async update(path, cwd, change) {
      const bytes = await files.read(path, cwd)
      changes.push({ path: files.display(path, cwd), before: bytes, after: change(bytes) })
    },
    async commit(planned, cwd) {
      for (const { path, content } of planned) await record(path, cwd, content)
    },
  }
}

const mostCompared = 1024 * 1024
