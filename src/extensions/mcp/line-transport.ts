import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client"
import type { LineChannel } from "../../contract/backend-env.ts"

/** MCP over the standard input and output of a program. Lines that are not messages are skipped. */
export class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #channel: LineChannel
  #isClosed = false

  constructor(channel: LineChannel) {
    this.#channel = channel
  }

  async start(): Promise<void> {
    void this.#read()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#channel.send(JSON.stringify(message))
  }

  async close(): Promise<void> {
    this.#channel.endInput()
    await this.#channel.end("ask")
    this.#closed()
  }

  async #read(): Promise<void> {
    try {
      for await (const line of this.#channel.lines) {
        const message = messageOf(line)
        if (message) this.onmessage?.(message)
        else if (line.trim() !== "") this.onerror?.(new Error("The server wrote a line that is not a message."))
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
      await this.#channel.end("kill")
    }
    this.#closed()
  }

  #closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
  }
}

function messageOf(line: string): JSONRPCMessage | undefined {
  try {
    const message: unknown = JSON.parse(line)
    const isMessage = typeof message === "object" && message !== null && "jsonrpc" in message
    // The protocol layer checks the rest of it.
    return isMessage ? (message as JSONRPCMessage) : undefined
  } catch {
    return undefined
  }
}
