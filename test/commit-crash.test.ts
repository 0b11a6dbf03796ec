import { createHash } from "node:crypto"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { nodeFiles } from "../src/hosts/node/files/files.ts"
import { type Blow, type Crashes, type Ending, prepareCrashes, type Scene } from "./commit-crash/crashes.ts"
import { WATCHDOG_MS } from "./support/watchdog.ts"

/** Every point, or enough of them to notice. */
const all = process.env.LONGHAUL_ALL_CRASHES === "1"
const timeout = all ? 600_000 : WATCHDOG_MS

let crashes: Crashes
let trace: Ending["trace"]
let oldTree: string
let newTree: string

beforeAll(async () => {
  crashes = await prepareCrashes()
  await crashes.inScene(async (scene) => {
    oldTree = scene.tree()
    const ending = await scene.commit()
    expect(ending).toMatchObject({ signal: null, error: null })
    trace = ending.trace
    newTree = scene.tree()
    expect(scene.notes()).toEqual([])
  })
})
afterAll(() => crashes.close())

test("an undisturbed commit creates, replaces, removes and moves files, and keeps permissions", () => {
  expect(newTree).toBe(
    [
      "bin/",
      "bin/tool.sh 755 #!/bin/sh\nexit\n",
      "new/",
      "new/deep/",
      "new/deep/a.txt 644 a",
      "new/deep/b.txt 644 b",
      "src/",
      `src/replaced.txt 600 ${createHash("sha256").update("new".repeat(30_000)).digest("hex")}`,
      "top.txt 664 new top",
      "untouched.txt 644 untouched",
    ].join("\n"),
  )
})

test("a commit of several files killed before, during or after any operation is complete or absent", {
  tags: ["TOOL-32"],
  timeout,
}, async () => {
  const points = everyOperation(["kill-before", "kill-after", "kill-within"], 4)
  const tally = await strikeAt(points, async (scene, blow) => {
    expect(await scene.commit(blow), JSON.stringify(blow)).toMatchObject({ signal: "SIGKILL" })
    await scene.read()
  })
  console.log(`commits killed: ${trace.length} operations, ${points.length} kills, ${inWords(tally)}`)
  expect(tally.mixtures).toEqual([])
  expect(Math.min(tally.old, tally.new)).toBeGreaterThan(0)
})

test("a commit killed during the recovery of another is still recovered by the next process", {
  tags: ["TOOL-32"],
  timeout,
}, async () => {
  const counted = counting()
  const firstBlows: readonly Blow[] = [
    { at: counted, what: "kill-before" },
    { at: counted, what: "kill-after" },
    { at: counted + 4, what: "kill-after" },
  ]
  const tallies: Tally[] = []
  for (const first of firstBlows) {
    const steps = await crashes.inScene(async (scene) => {
      await scene.commit(first)
      return (await scene.read()).trace.length
    })
    expect(steps).toBeGreaterThan(3)
    const points = Array.from({ length: steps }, (_, index): Blow => ({ at: index + 1, what: "kill-before" }))
    const tally = await strikeAt(all ? points : points.filter(({ at }) => at % 3 === 0), async (scene, blow) => {
      await scene.commit(first)
      expect(await scene.read(blow), JSON.stringify(blow)).toMatchObject({ signal: "SIGKILL" })
      await scene.read()
    })
    tallies.push(tally)
    console.log(`settlings killed: ${steps} operations, ${inWords(tally)}`)
  }
  expect(tallies.map(({ mixtures, ...tally }) => [Math.min(tally.old, 1), Math.min(tally.new, 1), mixtures])).toEqual([
    [1, 0, []],
    [0, 1, []],
    [0, 1, []],
  ])
})

test("if any one operation fails, the commit is complete or absent once the process continues", {
  tags: ["TOOL-32"],
  timeout,
}, async () => {
  const points = everyOperation(["fail"], 3)
  const tally = await strikeAt(points, async (scene, blow) => {
    const { error } = await scene.commit(blow)
    const tree = scene.tree()
    if (error === null) expect(tree).toBe(newTree)
    // A note that could not be removed is removed by the next process, without further effect.
    await scene.read()
    expect(scene.tree()).toBe(tree)
  })
  console.log(`commits with a failure: ${points.length} failures, ${inWords(tally)}`)
  expect(tally.mixtures).toEqual([])
  expect(Math.min(tally.old, tally.new)).toBeGreaterThan(0)
})

test("a living process's commit note is not touched by another process, even if incomplete", { timeout }, async () => {
  const points = everyOperation(["stop-before", "stop-within"], 8)
  // Including the note itself, half written.
  points.unshift({ at: trace.findIndex(([operation]) => operation === "writeFile") + 1, what: "stop-within" })
  await atOnce(points, (blow) =>
    crashes.inScene(async (scene) => {
      const { continueRun } = await scene.commitUntil(blow)
      const before = [scene.tree(), scene.notes()]
      expect((await scene.read()).signal).toBe(null)
      expect([scene.tree(), scene.notes()], JSON.stringify(blow)).toEqual(before)
      expect(await continueRun()).toMatchObject({ signal: null, error: null })
      expect([scene.tree(), scene.notes()], JSON.stringify(blow)).toEqual([newTree, []])
    }),
  )
})

test("control: without its note a killed commit leaves a mixture, which the comparison detects", async () => {
  await crashes.inScene(async (scene) => {
    await scene.commit({ at: counting() + 4, what: "kill-after" })
    rmSync(scene.redoFolder, { recursive: true })
    await scene.read()
    expect([oldTree, newTree]).not.toContain(scene.tree())
  })
})

test("a file created by others in place of a removed one stays, although the removal is repeated", async () => {
  await crashes.inScene(async (scene) => {
    const dropping = trace.findLastIndex(([operation]) => operation === "unlink") + 1
    await scene.commit({ at: dropping, what: "kill-before" })
    expect([scene.tree(), scene.notes().length]).toEqual([newTree, 1])
    writeFileSync(join(scene.workspace, "src/gone.txt"), "somebody else's")
    await scene.read()
    expect(scene.notes()).toEqual([])
    expect(readFileSync(join(scene.workspace, "src/gone.txt"), "utf8")).toBe("somebody else's")
  })
})

test("a file changed by others during preparation is a conflict and stays", async () => {
  await crashes.inScene(async (scene) => {
    const { continueRun } = await scene.commitUntil({ at: counting() - 1, what: "stop-before" })
    writeFileSync(join(scene.workspace, "bin/tool.sh"), "somebody else's", { mode: 0o644 })
    expect(await continueRun()).toMatchObject({ signal: null, error: "conflict" })
    expect([scene.tree(), scene.notes()]).toEqual([`bin/\nbin/tool.sh 644 somebody else's\n${oldTree}`, []])
  })
})

test("a process recovers again before it writes, so that its write is the last", async () => {
  await crashes.inScene(async (scene) => {
    const files = nodeFiles({ roots: [scene.workspace], redoFolder: scene.redoFolder })
    await files.read("top.txt", scene.workspace)
    await scene.commit({ at: counting(), what: "kill-after" })
    await files.write("top.txt", scene.workspace, new TextEncoder().encode("last word"))
    expect(scene.tree()).toBe(newTree.replace("new top", "last word"))
    await scene.read()
    expect(scene.tree()).toBe(newTree.replace("new top", "last word"))
  })
})

test("data that must survive power loss is synced before data that depends on it", async () => {
  const { redoFolder, steps } = await crashes.inScene(async (scene) => ({
    redoFolder: scene.redoFolder,
    steps: (await scene.commit()).trace,
  }))
  const find = (is: (step: (typeof steps)[number]) => boolean, from = 0) => {
    const at = steps.findIndex((step, index) => index >= from && is(step))
    expect(at).toBeGreaterThanOrEqual(from)
    return at
  }
  const syncOf = (path: string, from: number) => find(([operation, at]) => operation === "sync" && at === path, from)
  const isOf = (operation: string, prefix: string) => (step: (typeof steps)[number]) =>
    step[0] === operation && (step[1] ?? "").startsWith(prefix)

  const noted = find(isOf("open", redoFolder))
  const notes = dirname(steps[noted]?.[1] ?? "")
  const noteSynced = syncOf(notes, syncOf(steps[noted]?.[1] ?? "", noted))
  for (const folder of [redoFolder, dirname(redoFolder), dirname(dirname(redoFolder))]) syncOf(folder, noted)
  const firstStaged = find((step) => ["open", "mkdir"].includes(step[0]) && !(step[1] ?? "").startsWith(redoFolder))
  const folderSyncs = [redoFolder, dirname(redoFolder), dirname(dirname(redoFolder))].map((each) => syncOf(each, noted))
  expect(Math.max(noteSynced, ...folderSyncs)).toBeLessThan(firstStaged)

  const counted = find(isOf("rename", redoFolder))
  for (const [index, [operation, path = ""]] of steps.entries()) {
    const isStaged = operation === "open" && basename(path).startsWith(".tmp-")
    if (isStaged) expect(syncOf(dirname(path), syncOf(path, index))).toBeLessThan(counted)
    if (operation === "mkdir" && path !== notes) expect(syncOf(dirname(path), index)).toBeLessThan(counted)
  }

  const countSynced = syncOf(notes, counted)
  const dropped = find(isOf("unlink", notes))
  const made = steps.slice(counted + 1, dropped).filter(([operation]) => ["rename", "unlink"].includes(operation))
  expect(made).toHaveLength(7)
  for (const step of made) {
    const at = steps.indexOf(step)
    expect(at).toBeGreaterThan(countSynced)
    expect(syncOf(dirname(step.at(-1) ?? ""), at)).toBeLessThan(dropped)
  }
  syncOf(notes, dropped)
})

interface Tally {
  old: number
  new: number
  readonly mixtures: string[]
}

async function strikeAt(blows: readonly Blow[], act: (scene: Scene, blow: Blow) => Promise<void>): Promise<Tally> {
  const tally: Tally = { old: 0, new: 0, mixtures: [] }
  await atOnce(blows, (blow) =>
    crashes.inScene(async (scene) => {
      await act(scene, blow)
      const tree = scene.tree()
      if (scene.notes().length > 0) tally.mixtures.push(`${JSON.stringify(blow)} left a note`)
      if (tree === oldTree) tally.old++
      else if (tree === newTree) tally.new++
      else tally.mixtures.push(`${JSON.stringify(blow)} ${trace[blow.at - 1]?.[0]}: ${tree}`)
    }),
  )
  return tally
}

/** In the short run one in `sample`, and those around the commit point. */
function everyOperation(kinds: readonly Blow["what"][], sample: number): Blow[] {
  const blows = trace.flatMap(([operation], index) =>
    kinds
      .filter((what) => !what.endsWith("-within") || operation === "writeFile")
      .map((what): Blow => ({ at: index + 1, what })),
  )
  return blows.filter(({ at }, index) => all || index % sample === 0 || Math.abs(at - counting()) < 2)
}

/** The operation that is the commit point, from 1. */
function counting(): number {
  return trace.findIndex(([operation]) => operation === "rename") + 1
}

/** A few at a time: each is a process or two. */
async function atOnce<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const rest = [...items]
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: 4 }, worker))
}

const inWords = (tally: Tally) => `${tally.old} old, ${tally.new} new, ${tally.mixtures.length} mixtures`
