import { type FileHandle, mkdir, open } from "node:fs/promises"
import { dirname } from "node:path"

export interface SpillLimits {
  /** Bytes kept in memory before a file is created. */
  readonly fromBytes: number
  readonly maxBytes: number
}

/**
 * Output from its first byte on, in a file once there is too much of it. A disk failure ends the file, not the command.
 */
export class SpillFile {
  readonly #path: string
  readonly #limits: SpillLimits
  readonly #waiting: Uint8Array
  #waitingBytes = 0
  #handle: FileHandle | undefined
  #full = false
  #written = 0

  constructor(path: string, limits: SpillLimits) {
    this.#path = path
    this.#limits = limits
    this.#waiting = new Uint8Array(limits.fromBytes)
  }

  /** Its path and size; undefined while there is no file. */
  get place(): { readonly path: string; readonly bytes: number } | undefined {
    return this.#written > 0 ? { path: this.#path, bytes: this.#written } : undefined
  }

  /** Sequential: each write waits for the previous one. */
  async add(bytes: Uint8Array): Promise<void> {
    if (this.#full) return
    if (this.#handle === undefined && this.#waitingBytes + bytes.length <= this.#limits.fromBytes) {
      this.#waiting.set(bytes, this.#waitingBytes)
      this.#waitingBytes += bytes.length
      return
    }
    try {
      if (this.#handle === undefined) {
        await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
        this.#handle = await open(this.#path, "wx", 0o600)
        await this.#write(this.#handle, this.#waiting.subarray(0, this.#waitingBytes))
      }
      await this.#write(this.#handle, bytes)
    } catch {
      this.#full = true
    }
  }

  async close(): Promise<void> {
    this.#full = true
    await this.#handle?.close().catch(() => {})
  }

  async #write(handle: FileHandle, bytes: Uint8Array): Promise<void> {
    const fitting = bytes.subarray(0, this.#limits.maxBytes - this.#written)
    await handle.writeFile(fitting)
    this.#written += fitting.length
    this.#full = this.#written === this.#limits.maxBytes
  }
}
