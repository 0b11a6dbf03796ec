import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"
import { until } from "../support/watchdog.ts"

/** The event of a process at one of its operations. */
export interface Blow {
  readonly at: number
  readonly what: "kill-before" | "kill-after" | "kill-within" | "stop-before" | "stop-within" | "fail"
}

/** How a process ended, and its operations that changed the disk, each with its paths. */
export interface Ending {
  readonly signal: string | null
  readonly error: string | null
  readonly trace: readonly (readonly [operation: string, ...paths: string[]])[]
}

/** A workspace, its notes, and processes that use them. */
export interface Scene {
  readonly workspace: string
  readonly redoFolder: string
  commit(blow?: Blow): Promise<Ending>
  /** A process that only reads, and so settles commits of others. */
  read(blow?: Blow): Promise<Ending>
  /** A commit that is stopped until `continueRun`. */
  commitUntil(blow: Blow): Promise<{ continueRun(): Promise<Ending> }>
  tree(): string
  notes(): readonly string[]
}

export interface Crashes {
  inScene<Value>(use: (scene: Scene) => Promise<Value>): Promise<Value>
  close(): void
}

/** Contains a file in new folders, two in one, two replaced, one deleted and one moved. */
export async function prepareCrashes(): Promise<Crashes> {
  // In memory if possible: the order of operations is the same, without wear.
  const root = realpathSync(mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "longhaul-crash-")))
  const bundle = join(root, "files.mjs")
  const entry = fileURLToPath(new URL("../../src/hosts/node/files/files.ts", import.meta.url))
  await build({ entryPoints: [entry], bundle: true, platform: "node", format: "esm", outfile: bundle })
  return {
    async inScene(use) {
      const folder = mkdtempSync(join(root, "scene-"))
      try {
        return await use(createScene(folder, pathToFileURL(bundle).href))
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    close: () => rmSync(root, { recursive: true, force: true }),
  }
}

const before: Readonly<Record<string, readonly [content: string, mode: number]>> = {
  "untouched.txt": ["untouched", 0o644],
  "top.txt": ["old top", 0o664],
  "src/replaced.txt": ["old".repeat(20_000), 0o600],
  "src/gone.txt": ["gone", 0o644],
  "src/tool.sh": ["#!/bin/sh\n", 0o755],
}

const changes = [
  { path: "new/deep/a.txt", content: "a", version: null },
  { path: "src/replaced.txt", content: "new".repeat(30_000) },
  { path: "src/gone.txt", content: null },
  { path: "new/deep/b.txt", content: "b" },
  { path: "src/tool.sh", content: null },
  { path: "bin/tool.sh", content: "#!/bin/sh\nexit\n", version: null, like: "src/tool.sh" },
  { path: "top.txt", content: "new top" },
]

function createScene(folder: string, files: string): Scene {
  const workspace = join(folder, "ws")
  const redoFolder = join(folder, "state", "redo")
  for (const [name, [content, mode]] of Object.entries(before)) {
    mkdirSync(dirname(join(workspace, name)), { recursive: true })
    writeFileSync(join(workspace, name), content)
    chmodSync(join(workspace, name), mode)
  }
  const order = { files, workspace, redoFolder }
  return {
    workspace,
    redoFolder,
    commit: (blow) => start({ ...order, changes, ...blow }).ended,
    read: (blow) => start({ ...order, ...blow }).ended,
    async commitUntil(blow) {
      const child = start({ ...order, changes, ...blow })
      await Promise.race([child.stopped, child.ended])
      return {
        continueRun() {
          child.kill("SIGCONT")
          return child.ended
        },
      }
    },
    tree: () => snapshot(workspace),
    notes: () =>
      (existsSync(redoFolder) ? readdirSync(redoFolder, { recursive: true }).map(String) : []).filter(isNote),
  }
}

const isNote = (name: string) => name.endsWith(".json")

function start(order: object) {
  const script = fileURLToPath(new URL("child.mjs", import.meta.url))
  const child = spawn(process.execPath, [script, JSON.stringify(order)], { stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  let failure = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    failure += text
  })
  const stopped = new Promise<void>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
      // The first output of a process that is about to stop, and the only one until it continues.
      if (output === "stopped\n") standsStill(child.pid).then(resolve)
    })
  })
  const ended = new Promise<Ending>((resolve, reject) => {
    child.once("close", (code, signal) => {
      if (signal !== null) resolve({ signal, error: null, trace: [] })
      else if (code === 0) resolve({ signal, ...JSON.parse(output.replace("stopped\n", "")) })
      else reject(new Error(failure))
    })
  })
  return { ended, stopped, kill: (signal: NodeJS.Signals) => child.kill(signal) }
}

/** Printed right before it stops: continuing it immediately would wake it too early, and then never again. */
async function standsStill(pid: number | undefined): Promise<void> {
  const state = () => /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]
  await until(() => state() === "T")
}

/** Every name with its kind, permissions and content. */
function snapshot(folder: string): string {
  const names = readdirSync(folder, { recursive: true }).map(String).sort()
  return names
    .map((name) => {
      const stats = statSync(join(folder, name))
      if (stats.isDirectory()) return `${name}/`
      const content = readFileSync(join(folder, name), "utf8")
      const shown = content.length < 100 ? content : createHash("sha256").update(content).digest("hex")
      return `${name} ${(stats.mode & 0o777).toString(8)} ${shown}`
    })
    .join("\n")
}
