import { fork } from "node:child_process"
import { cpSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const repository = fileURLToPath(new URL("../..", import.meta.url))
const RUN_MS = 120_000

/** A copy of the repository with a process that runs tests in it. */
export class TestRunner {
  #copy
  #child

  constructor(copy) {
    this.#copy = copy
    const documents = ["docs", "README.md", "SECURITY.md"]
    for (const name of ["src", "test", "scripts", ...documents, "tsconfig.json", "vitest.config.ts", "package.json"]) {
      cpSync(join(repository, name), join(this.#copy, name), { recursive: true })
    }
    symlinkSync(join(repository, "node_modules"), join(this.#copy, "node_modules"))
  }

  /** A run that does not end within `limitMs` has noticed the mutation in its own way. */
  async run({ edits = [], tests, isProgram = false, limitMs = RUN_MS }) {
    this.#child ??= await this.#start()
    const child = this.#child
    child.send({ edits, isProgram, tests: byFile(tests) })
    let timer
    const late = new Promise((resolve) => {
      timer = setTimeout(() => resolve({ failed: [`a run that did not end in ${limitMs / 1000} s`] }), limitMs)
    })
    const answer = await Promise.race([nextMessage(child), late])
    clearTimeout(timer)
    if (answer.passed === undefined && answer.error === undefined) this.#renew()
    return answer
  }

  stop() {
    if (this.#child === undefined) return
    process.kill(-this.#child.pid, "SIGKILL") // its own group: vitest and the workers it started
    this.#child = undefined
  }

  async #start() {
    const child = fork(join(repository, "scripts/mutate/worker.mjs"), [this.#copy], {
      cwd: this.#copy,
      env: { ...process.env, NODE_NO_WARNINGS: "1", LONGHAUL_SCHEDULES: process.env.LONGHAUL_SCHEDULES ?? "100" },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      detached: true,
    })
    await nextMessage(child)
    return child
  }

  /** The sources as they were: the process had no chance to undo its edits. */
  #renew() {
    this.stop()
    cpSync(join(repository, "src"), join(this.#copy, "src"), { recursive: true })
  }
}

/** Each file once, with the names of which its tests must hold one. */
function byFile(tests) {
  const names = new Map()
  for (const [file, name] of tests) names.set(file, (names.get(file) ?? new Set()).add(name))
  return Array.from(names, ([file, each]) => ({ file, names: [...each] }))
}

function nextMessage(child) {
  return new Promise((resolve, reject) => {
    const ended = (code) => reject(new Error(`The process that runs the tests ended with code ${code}.`))
    child.once("exit", ended)
    child.once("message", (message) => {
      child.off("exit", ended)
      resolve(message)
    })
  })
}
