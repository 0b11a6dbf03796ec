import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Order, Told } from "./offload/worker.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-offload-crash-"))
const program = join(scratch, "worker.mjs")

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL("offload/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Runs one process to its end. Undefined: it was killed. */
async function processOf(order: Order): Promise<Told | undefined> {
  const child = fork(program, [JSON.stringify(order)], { execArgv: [] })
  let told: Told | undefined
  child.on("message", (message: Told) => {
    told = message
  })
  const [code, signal] = await once(child, "exit")
  expect(order.dies ? signal : code).toBe(order.dies ? "SIGKILL" : 0)
  return told
}

const filesIn = (root: string) => {
  try {
    return readdirSync(join(root, "workspaces/default/.longhaul/projects/r/nodes/main/toolResults")).sort()
  } catch {
    return []
  }
}

const cases = [
  { effect: "none", offload: true },
  { effect: "none", offload: false },
  { effect: "repeatable", offload: true },
  { effect: "once", offload: true },
] as const
const moments = (["fs", "create-only"] as const).flatMap((store) =>
  cases.flatMap((each) =>
    (["file", "record"] as const).flatMap((at) =>
      (["before", "after"] as const).map((when) => ({ store, ...each, at, when })),
    ),
  ),
)

test.each(moments)(
  "SIGKILL $when the $at of a result (effect $effect, store $store, resumed with offload $offload): FetchData returns what the preview shows",
  { tags: ["OFF-12", "PAU-06"] },
  async ({ store, effect, offload, at, when }) => {
    const root = mkdtempSync(join(scratch, "store-"))
    const order = { store, effect, root }
    expect(await processOf({ ...order, what: "begin", offload: true, dies: { at, when } })).toBeUndefined()
    const left = filesIn(root)
    expect(left).toEqual(at === "file" && when === "before" ? [] : ["1.0.json"])
    const told = await processOf({ ...order, what: "resume", offload })
    const isRecorded = at === "record" && when === "after"
    if (effect === "once" && !isRecorded) {
      // The effect is flagged and not repeated, and the file that it left is not served.
      expect(told).toMatchObject({ status: "done", call: "unknown" })
      expect(told?.fetched).toContain("It may or may not have happened")
      return
    }
    expect(told).toMatchObject({ status: "done", call: "ok" })
    const { preview = "", fetched = "" } = told ?? {}
    const id = preview.slice(0, 36)
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(fetched.startsWith(`${id} x`)).toBe(true)
    expect(fetched).toHaveLength(10_037)
    // A repeated call leaves the file of the first attempt alone. Without the setting its result is in the conversation.
    const isStored = isRecorded || offload
    expect(preview.length < 1000).toBe(isStored)
    const repeated = left.length === 0 ? ["1.0.json"] : ["1.0.json", "1.0~1.json"]
    expect(filesIn(root)).toEqual(isRecorded || !offload ? left : repeated)
  },
)
