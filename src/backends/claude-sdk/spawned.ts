import type { LineChannel } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"

type Listener = (...values: readonly unknown[]) => void

/**
 * A program of the host in the form in which the SDK expects one: with streams and events, of which it has what the SDK uses. The
 * host starts it, so that its processes end with the host.
 */
export class HostProcess {
  readonly stdin: Input
  readonly stdout = new Output()
  killed = false
  exitCode: number | null = null
  signalCode: string | null = null
  /** Rejects if the program could not be started. */
  readonly channel: Promise<LineChannel>
  readonly #events = new Emitter()

  /** `failed`: called if its output is unreadable. */
  constructor(channel: Promise<LineChannel>, failed: (error: unknown) => void) {
    this.channel = channel
    this.stdin = new Input(channel)
    channel.then(
      (started) => this.#watch(started, failed),
      (error) => this.#events.emit("error", error),
    )
  }

  kill(signal: string): boolean {
    this.killed = true
    this.channel.then((channel) => channel.end(signal === "SIGKILL" ? "kill" : "ask")).catch(() => {})
    return true
  }

  on(event: string, listener: Listener): this {
    this.#events.on(event, listener)
    return this
  }

  once(event: string, listener: Listener): this {
    this.#events.once(event, listener)
    return this
  }

  off(event: string, listener: Listener): this {
    this.#events.off(event, listener)
    return this
  }

  async #watch(channel: LineChannel, failed: (error: unknown) => void): Promise<void> {
    try {
      for await (const line of channel.lines) {
        if (line.trim() === "") continue
        if (!line.startsWith("{")) throw notMessage(line)
        await this.stdout.write(`${line}\n`)
      }
    } catch (error) {
      failed(error)
    }
    this.stdout.end()
    const { code, signal } = await channel.exit
    this.exitCode = code
    this.signalCode = signal
    this.#events.emit("exit", code, signal)
  }
}

class Emitter {
  readonly #listeners = new Map<string, Set<Listener>>()

  on(event: string, listener: Listener): this {
    const all = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, all.add(listener))
    return this
  }

  once(event: string, listener: Listener): this {
    const first: Listener = (...values) => {
      this.off(event, first)
      listener(...values)
    }
    return this.on(event, first)
  }

  off(event: string, listener: Listener): this {
    this.#listeners.get(event)?.delete(listener)
    return this
  }

  removeListener(event: string, listener: Listener): this {
    return this.off(event, listener)
  }

  listenerCount(event: string): number {
    return this.#listeners.get(event)?.size ?? 0
  }

  emit(event: string, ...values: readonly unknown[]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(...values)
  }
}

/** The standard input. Lines are sent in order, as soon as the program runs. */
class Input extends Emitter {
  writableEnded = false
  #sent: Promise<unknown>
  readonly #channel: Promise<LineChannel>
  #begun = ""

  constructor(channel: Promise<LineChannel>) {
    super()
    this.#channel = channel
    this.#sent = channel.catch(() => {})
  }

  write(text: string): boolean {
    const [first = "", ...others] = text.split("\n")
    const lines = [this.#begun + first, ...others]
    this.#begun = lines.pop() ?? ""
    for (const line of lines) {
      this.#sent = this.#sent
        .then(() => this.#channel)
        .then((channel) => channel.send(line))
        .catch((error) => this.emit("error", error))
    }
    return true
  }

  end(): void {
    this.writableEnded = true
    this.#sent.then(() => this.#channel).then((channel) => channel.endInput(), nothing)
  }
}

/** The standard output. Nothing is read from the program while the SDK has paused it. */
class Output extends Emitter {
  #resume: (() => void) | undefined
  #isPaused = true

  async write(text: string): Promise<void> {
    while (this.#isPaused) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve
      })
    }
    this.emit("data", text)
  }

  end(): void {
    this.emit("end")
    this.emit("close")
  }

  pause(): this {
    this.#isPaused = true
    return this
  }

  resume(): this {
    this.#isPaused = false
    this.#resume?.()
    return this
  }
}

function notMessage(line: string): LonghaulError {
  return new LonghaulError("backend_protocol", `Claude wrote a line that is not a message: ${line.slice(0, 80)}`, {
    fix: "Check that nothing else writes to its standard output.",
  })
}

function nothing(): void {}
