import type { Readable } from "node:stream"
import { setImmediate as nextRound } from "node:timers/promises"
import type { PiecewiseRedaction, ShellOutput } from "../../../contract/env.ts"
import { delay } from "../../../lib/abort.ts"
import { OutputWindow } from "../../../lib/output-window.ts"
import type { SpillFile } from "./spill-file.ts"

/** The output of one command, from its pipe to a window and a file; it waits for the disk, and so does the command. */
export class CommandOutput {
  readonly #source: Readable
  readonly #spill: SpillFile
  readonly #window: OutputWindow
  readonly #teller: Teller | undefined
  readonly #redaction: PiecewiseRedaction | undefined
  readonly #ended = new AbortController()
  readonly #reading: Promise<void>
  #bytes = 0
  #isWriting = false

  constructor(source: Readable, spill: SpillFile, { maxBytes, onOutput, redaction }: OutputOptions) {
    this.#source = source
    this.#spill = spill
    this.#window = new OutputWindow(maxBytes)
    this.#teller = onOutput && new Teller(onOutput)
    this.#redaction = redaction
    this.#reading = this.#read()
  }

  /** The output since the last time. */
  take(more: boolean): Pick<ShellOutput, "text" | "bytes" | "leftOutBytes" | "spillPath" | "spilledBytes"> {
    const { place } = this.#spill
    return {
      ...this.#window.take(more),
      bytes: this.#bytes,
      ...(place && { spillPath: place.path, spilledBytes: place.bytes }),
    }
  }

  /** Until all writers have closed the pipe. */
  async end(): Promise<void> {
    await this.#reading
    await this.#settle()
  }

  /** The same, without waiting for an escaped process that still has the pipe. */
  async endSoon(): Promise<void> {
    const until = performance.now() + longestMs
    for (let seen = -1; seen !== this.#bytes || this.#isWriting; ) {
      if (this.#ended.signal.aborted || performance.now() > until) break
      seen = this.#bytes
      await delay(quietMs, this.#ended.signal)
      // A process that was delayed itself may still have unread data before it is considered quiet.
      await nextRound()
    }
    this.#source.destroy()
    await this.end()
  }

  async #settle(): Promise<void> {
    this.#teller?.end()
    await this.#spill.close()
  }

  async #read(): Promise<void> {
    try {
      // Safe: a stream without an encoding gives bytes.
      for await (const chunk of this.#source as AsyncIterable<Uint8Array>) {
        this.#bytes += chunk.length
        const { buffer, byteOffset, length } = chunk
        const piece = this.#redaction?.push(Buffer.from(buffer, byteOffset, length).toString("latin1"))
        await this.#add(piece === undefined ? chunk : Buffer.from(piece, "latin1"))
      }
    } catch {
      // Closed on this side: data received so far counts.
    } finally {
      const rest = this.#redaction?.end() ?? ""
      if (rest !== "") await this.#add(Buffer.from(rest, "latin1"))
      this.#ended.abort()
    }
  }

  async #add(bytes: Uint8Array): Promise<void> {
    this.#window.add(bytes)
    this.#teller?.add(bytes)
    this.#isWriting = true
    await this.#spill.add(bytes)
    this.#isWriting = false
  }
}

interface OutputOptions {
  readonly maxBytes: number
  readonly onOutput?: ((text: string) => void) | undefined
  /** Gets one character for each byte, so that no byte of a binary output changes. */
  readonly redaction?: PiecewiseRedaction | undefined
}

const quietMs = 100
const longestMs = 2000

/** Notifies a listener at intervals, however fast the output comes. */
class Teller {
  readonly #tell: (text: string) => void
  readonly #window = new OutputWindow(4096)
  #timer: NodeJS.Timeout | undefined

  constructor(tell: (text: string) => void) {
    this.#tell = tell
  }

  add(bytes: Uint8Array): void {
    this.#window.add(bytes)
    this.#timer ??= setTimeout(() => this.#flush(true), quietMs)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#flush(false)
  }

  #flush(more: boolean): void {
    this.#timer = undefined
    const { text } = this.#window.take(more)
    try {
      if (text !== "") this.#tell(text)
    } catch {
      // A failing listener must not affect the command.
    }
  }
}
