import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Backend } from "../../../src/contract/backend.ts"
import type {
  BackendEnv,
  LineChannel,
  Loopback,
  LoopbackService,
  ProgramExit,
  ProgramSpec,
} from "../../../src/contract/backend-env.ts"
import type { PlaceFacts } from "../backend-place.ts"
import { PATIENCE_MS } from "../watchdog.ts"
import { differing, ids, type SceneEvent, withoutFolders } from "./scene.ts"

export interface PlayerOptions {
  readonly events: readonly SceneEvent[]
  readonly facts: PlaceFacts
  /** The model was asked. */
  onModel(hasTools: boolean): void
}

/**
 * Plays the programs of a scene: what they said comes at its place in the order of the scene, and what the backend sends
 * must be what it sent then, but for ids and places.
 */
export class Player {
  /** Resolves at the end of the scene, or rejects where the backend departs from it. */
  readonly played: Promise<void>
  readonly #options: PlayerOptions
  readonly #events: readonly SceneEvent[]
  /** The backend's ids, by those of the scene. */
  readonly #ids = new Map<string, string>()
  readonly #programs = new Map<number, PlayedProgram>()
  readonly #spawned = new Queue<readonly [ProgramSpec, (channel: LineChannel) => void]>()
  readonly #loopbacks = new Queue<readonly [LoopbackService, (loopback: Loopback) => void]>()
  readonly #answers = new Map<number, Promise<unknown>>()
  #service: LoopbackService | undefined

  constructor(options: PlayerOptions) {
    this.#options = options
    let text = JSON.stringify(options.events)
    for (const [here, name] of differing(options.facts)) text = text.replaceAll(name, here)
    this.#events = JSON.parse(text) as readonly SceneEvent[] // Safe: only texts in it were replaced.
    this.played = this.#play()
    // Also told by the case that fails because of it.
    this.played.catch(() => {})
  }

  wrap(backend: Backend): Backend {
    return { ...backend, open: (request, env) => backend.open(request, this.#env(env)) }
  }

  /** Call at the end of the case: what is then still to come from the backend will not come. */
  async finish(): Promise<void> {
    await Promise.race([this.played, new Promise((resolve) => setTimeout(resolve, 0))])
    for (const { sent } of this.#programs.values()) sent.end()
    this.#spawned.end()
    this.#loopbacks.end()
    await this.played
  }

  #env(env: BackendEnv): BackendEnv {
    return {
      ...env,
      spawn: (spec) => this.#reached((resolve) => this.#spawned.push([spec, resolve])),
      loopback: (service) => this.#reached((resolve) => this.#loopbacks.push([service, resolve])),
    }
  }

  /** Rejects if the scene is over before it comes to that. */
  #reached<Value>(wait: (resolve: (value: Value) => void) => void): Promise<Value> {
    return new Promise((resolve, reject) => {
      wait(resolve)
      this.played.then(() => reject(new Error("The scene is over.")), reject)
    })
  }

  async #play(): Promise<void> {
    try {
      for (const event of this.#events) await this.#next(event)
    } catch (error) {
      for (const program of this.#programs.values()) program.stop({ code: 1, signal: null, stderr: String(error) })
      throw error
    }
  }

  async #next(event: SceneEvent): Promise<void> {
    switch (event.type) {
      case "start": {
        const [spec, resolve] = await this.#spawned.shift(`the start of program ${event.program}`)
        this.#same(JSON.stringify(event.args), JSON.stringify(withoutFolders(spec.args)))
        const program = new PlayedProgram()
        this.#programs.set(event.program, program)
        return resolve(program.channel)
      }
      case "loopback": {
        const [service, resolve] = await this.#loopbacks.shift("the start of the loopback service")
        this.#service = service
        return resolve({ mcp: event.mcp, gate: event.gate, close: async () => {} })
      }
      case "sent":
        return this.#same(event.line, await this.#program(event.program).sent.shift(event.line))
      case "received":
        return this.#program(event.program).lines.push(this.#own(event.line))
      case "exit": {
        const { program, code, signal } = event
        if (this.#isEnded(program)) await this.#program(program).isAsked
        return this.#program(program).stop({ code, signal, stderr: "" })
      }
      case "call":
        this.#answers.set(event.number, this.#served().callTool(event.call))
        return
      case "question": {
        // Safe: only texts in it were replaced.
        const question = JSON.parse(this.#own(JSON.stringify(event.question))) as typeof event.question
        this.#answers.set(event.number, this.#served().decide?.(question) ?? Promise.reject(new Error("no gate")))
        return
      }
      case "answer":
        return this.#same(JSON.stringify(event.answer), JSON.stringify(await this.#answers.get(event.number)))
      case "model":
        return this.#options.onModel(event.hasTools)
      case "file":
        return writeFileSync(join(this.#options.facts.workspace, event.name), event.text)
      default:
        return
    }
  }

  /** The end of the program was asked for. */
  #isEnded(program: number): boolean {
    return this.#events.some(({ type, ...event }) => {
      return (type === "end" || type === "input-end") && "program" in event && event.program === program
    })
  }

  #same(recorded: string, given: string): void {
    const here = given.match(ids) ?? []
    recorded.match(ids)?.forEach((id, index) => {
      this.#ids.set(id, this.#ids.get(id) ?? here[index] ?? id)
    })
    const expected = this.#own(recorded)
    if (expected !== given)
      throw new Error(`The backend departs from the scene.\nScene:   ${expected}\nBackend: ${given}`)
  }

  #own(text: string): string {
    return text.replaceAll(ids, (id) => this.#ids.get(id) ?? id)
  }

  #program(number: number): PlayedProgram {
    const program = this.#programs.get(number)
    if (program === undefined) throw new Error(`The scene uses program ${number} before its start.`)
    return program
  }

  #served(): LoopbackService {
    if (this.#service === undefined) throw new Error("The scene uses the loopback service before its start.")
    return this.#service
  }
}

class PlayedProgram {
  readonly sent = new Queue<string>()
  readonly lines = new Queue<string>()
  readonly isAsked: Promise<void>
  readonly channel: LineChannel
  readonly stop: (exit: ProgramExit) => void

  constructor() {
    let [asked, stopped] = [() => {}, (_: ProgramExit) => {}]
    this.isAsked = new Promise((resolve) => {
      asked = resolve
    })
    const exit = new Promise<ProgramExit>((resolve) => {
      stopped = resolve
    })
    this.stop = (how) => {
      this.lines.end()
      stopped(how)
    }
    this.channel = {
      lines: this.lines,
      send: async (line) => this.sent.push(line),
      endInput: () => asked(),
      end: async () => {
        asked()
        this.sent.end()
        await exit
      },
      exit,
    }
  }
}

/** Values that one side adds and the other waits for. */
class Queue<Value> implements AsyncIterable<Value> {
  readonly #values: Value[] = []
  #wake = () => {}
  #isEnded = false

  push(value: Value): void {
    this.#values.push(value)
    this.#wake()
  }

  end(): void {
    this.#isEnded = true
    this.#wake()
  }

  async shift(what: string): Promise<Value> {
    const timer = setTimeout(() => {
      this.end()
    }, PATIENCE_MS)
    for await (const value of this) {
      clearTimeout(timer)
      return value
    }
    throw new Error(`The backend departs from the scene: it did not come to ${what}`)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Value> {
    for (;;) {
      const value = this.#values.shift()
      if (value !== undefined) yield value
      else if (this.#isEnded) return
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }
}
