import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { ToolError } from "../../../contract/tool.ts"
import { nodeFiles } from "./files.ts"

/** `npm run prove` uses more, over both kinds together. */
const reads = Number(process.env.LONGHAUL_SWAPPED_READS ?? 2000) / 2
const writes = Number(process.env.LONGHAUL_SWAPPED_WRITES ?? 2000) / 2
const timeoutMs = 600_000

/** Swaps as fast as it can, until it is terminated. Each step may lose a race: it continues. */
const swapper = `
  const { renameSync, rmSync, symlinkSync, unlinkSync } = require("node:fs")
  const { workerData: { kind, workspace, outside } } = require("node:worker_threads")
  const attempt = (action) => { try { action() } catch {} }
  const name = workspace + "/" + (kind === "file" ? "folder/target" : "folder")
  const hidden = workspace + "/hidden-" + kind
  const elsewhere = kind === "file" ? outside + "/target" : outside
  for (;;) {
    attempt(() => renameSync(name, hidden))
    attempt(() => symlinkSync(elsewhere, name))
    attempt(() => unlinkSync(name))
    // A write may have made the name anew meanwhile.
    attempt(() => rmSync(name, { recursive: true }))
    attempt(() => renameSync(hidden, name))
  }
`

let base: string
let workspace: string
let outside: string

beforeEach(() => {
  // In memory if possible: thousands of synced writes would wear the disk needlessly.
  base = realpathSync(mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "longhaul-race-")))
  workspace = join(base, "ws")
  outside = join(base, "outside")
  mkdirSync(join(workspace, "folder/deep"), { recursive: true })
  mkdirSync(join(outside, "deep"), { recursive: true })
  writeFileSync(join(workspace, "folder/target"), "inside")
  writeFileSync(join(outside, "target"), "OUTSIDE")
})

afterEach(() => rmSync(base, { recursive: true, force: true }))

/** The results of many tries, while `kind` is swapped for a link to the same name outside. */
async function whileSwapping(
  kind: "file" | "folder",
  act: (round: number) => Promise<string>,
  times: number,
): Promise<Map<string, number>> {
  const worker = new Worker(swapper, { eval: true, workerData: { kind, workspace, outside } })
  const outcomes = new Map<string, number>()
  try {
    await new Promise((resolve) => worker.once("online", resolve))
    for (let round = 0; round < times; round++) {
      const outcome = await act(round).catch((error: unknown) => {
        if (!(error instanceof ToolError)) throw error
        return error.code
      })
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  } finally {
    await worker.terminate()
  }
  return outcomes
}

function told(outcomes: ReadonlyMap<string, number>): string {
  const outside = outcomes.get("OUTSIDE") ?? 0
  return `${outside} outside; ${Array.from(outcomes, ([outcome, count]) => `${outcome} ${count}`).join(", ")}`
}

describe.runIf(process.platform === "linux").each(["file", "folder"] as const)(
  "while a %s is swapped for a link to the outside",
  (kind) => {
    test(
      `${reads} reads never return outside content`,
      async () => {
        const files = nodeFiles({ roots: [workspace] })
        const read = async () => new TextDecoder().decode(await files.read("folder/target", workspace))
        const outcomes = await whileSwapping(kind, read, reads)
        console.log(`${reads} reads while a ${kind} is swapped: ${told(outcomes)}`)
        expect(outcomes.get("OUTSIDE") ?? 0).toBe(0)
        // The race really happened: it was won and lost at least once.
        expect(outcomes.get("inside") ?? 0).toBeGreaterThan(0)
        expect(outcomes.get("denied") ?? 0).toBeGreaterThan(0)
      },
      timeoutMs,
    )

    test(
      `${reads} info and list calls never measure or list outside files`,
      async () => {
        writeFileSync(join(outside, "only-outside"), "")
        const files = nodeFiles({ roots: [workspace] })
        const outcomes = await whileSwapping(
          kind,
          async (round) => {
            if (round % 2 === 0) return String((await files.info("folder/target", workspace)).size)
            return (await files.list("folder", workspace))
              .map(({ name }) => name)
              .sort()
              .join()
          },
          reads,
        )
        expect(outcomes.get("7") ?? 0).toBe(0)
        expect([...outcomes.keys()].filter((outcome) => outcome.includes("only-outside"))).toEqual([])
      },
      timeoutMs,
    )

    test(
      `${writes} writes never reach outside files and leave no temporary file`,
      async () => {
        const files = nodeFiles({ roots: [workspace] })
        const names = ["folder/target", "folder/deep/new", "folder/made/new"]
        const outcomes = await whileSwapping(
          kind,
          async (round) => {
            await files.write(names[round % names.length] ?? "", workspace, new TextEncoder().encode("written"))
            return "written"
          },
          writes,
        )
        console.log(`${writes} writes while a ${kind} is swapped: ${told(outcomes)}`)
        expect(readdirSync(outside, { recursive: true }).sort()).toEqual(["deep", "target"])
        expect(readFileSync(join(outside, "target"), "utf8")).toBe("OUTSIDE")
        expect(outcomes.get("written") ?? 0).toBeGreaterThan(0)
        expect(outcomes.get("denied") ?? 0).toBeGreaterThan(0)
        const left = readdirSync(workspace, { recursive: true }).filter((name) => String(name).includes(".tmp-"))
        expect(left).toEqual([])
      },
      timeoutMs,
    )

    test(
      `${writes / 4} commits never change or remove outside files and leave no temporary file`,
      async () => {
        const files = nodeFiles({ roots: [workspace], redoFolder: join(base, "redo") })
        const content = new TextEncoder().encode("written")
        const outcomes = await whileSwapping(
          kind,
          async (round) => {
            await files.commit(
              [
                { path: "folder/target", content: round % 2 === 0 ? content : null },
                { path: `folder/made-${round}/new`, content },
                { path: "beside", content },
              ],
              workspace,
            )
            return "written"
          },
          writes / 4,
        )
        expect(readdirSync(outside, { recursive: true }).sort()).toEqual(["deep", "target"])
        expect(readFileSync(join(outside, "target"), "utf8")).toBe("OUTSIDE")
        expect(outcomes.get("written") ?? 0).toBeGreaterThan(0)
        expect(outcomes.size).toBeGreaterThan(1)
        const left = readdirSync(base, { recursive: true }).filter((name) => /\.tmp-|\.json$/.test(String(name)))
        expect(left).toEqual([])
      },
      timeoutMs,
    )
  },
)
