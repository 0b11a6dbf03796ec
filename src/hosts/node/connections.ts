import type { Socket } from "node:net"
import { type ResponseListener, ResponseParser } from "./http-response.ts"

/** How the bytes of a connection come in: what `node:net` calls `onread`. */
export interface Reading {
  readonly buffer: Uint8Array
  callback(length: number, bytes: Uint8Array): boolean
}

/** Resolves with a socket that may be written to; rejects with the reason why there is none. */
export type Connect = (reading: Reading, signal: AbortSignal | undefined) => Promise<Socket>

/** Hears how an exchange goes: `done` or `failed` comes last, and once. */
export interface ExchangeListener extends ResponseListener {
  done(): void
  failed(cause: unknown): void
}

/** Kept connections to one place: as many as were ever used at once. */
export class ConnectionPool {
  readonly #connect: Connect
  readonly #idle: Connection[] = []

  constructor(connect: Connect) {
    this.#connect = connect
  }

  /** One that is at rest, the last used first. */
  take(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      if (!connection?.isStale) return connection
      connection.close()
    }
  }

  async open(signal: AbortSignal | undefined): Promise<Connection> {
    const connection = new Connection(this)
    connection.use(await this.#connect({ buffer: readBuffer, callback: connection.read }, signal))
    return connection
  }

  put(connection: Connection): void {
    this.#idle.push(connection)
  }

  drop(connection: Connection): void {
    const index = this.#idle.indexOf(connection)
    if (index !== -1) this.#idle.splice(index, 1)
  }
}

/** All connections read into it: what came in is passed on before anything else is read. */
const readBuffer = new Uint8Array(64 * 1024)

/** A smaller body goes with its head as one: to write two costs more than to copy one. */
const WORTH_COPYING = 64 * 1024

/** Servers close what is idle for as long as they said, and a request may be on its way by then. */
const IDLE_MARGIN_MS = 1000

/** One exchange after the other. */
export class Connection {
  readonly #pool: ConnectionPool
  readonly #parser = new ResponseParser()
  #socket: Socket | undefined
  #listener: ExchangeListener | undefined
  #cause: unknown
  #idleSince: number | undefined
  #isHeard = false
  #isEnded = false

  constructor(pool: ConnectionPool) {
    this.#pool = pool
  }

  /** It was kept, and not a byte came since its request: the server may have closed it before it knew of that. */
  get isUnheard(): boolean {
    return this.#idleSince !== undefined && !this.#isHeard
  }

  get isStale(): boolean {
    const idleMs = performance.now() - (this.#idleSince ?? 0)
    return this.#socket?.writable !== true || idleMs >= this.#parser.idleMs - IDLE_MARGIN_MS
  }

  use(socket: Socket): void {
    this.#socket = socket
    socket.on("error", (error) => {
      this.#cause ??= error
    })
    // What is still to be sent then would hold the connection open for nobody.
    socket.on("end", () => {
      this.#isEnded = true
      this.close()
    })
    socket.on("close", () => this.#closed())
  }

  exchange(head: string, body: Uint8Array, listener: ExchangeListener): void {
    this.#listener = listener
    this.#isHeard = false
    this.#parser.expect(listener)
    const socket = this.#socket as Socket
    socket.ref()
    if (body.length <= WORTH_COPYING) {
      const whole = Buffer.allocUnsafe(head.length + body.length)
      whole.write(head, "latin1")
      whole.set(body, head.length)
      socket.write(whole)
      return
    }
    // Not corked: Node takes far longer to gather two pieces than the system to take them one by one.
    socket.write(head, "latin1")
    socket.write(body)
  }

  readonly read = (length: number, bytes: Uint8Array): boolean => {
    if (this.#listener === undefined) this.close()
    else {
      this.#isHeard = true
      try {
        this.#parser.push(bytes.subarray(0, length))
        if (this.#parser.isWhole) this.#finish(this.#listener)
      } catch (error) {
        this.#cause ??= error
        this.close()
      }
    }
    return true
  }

  close(): void {
    this.#socket?.destroy()
  }

  #finish(listener: ExchangeListener): void {
    this.#listener = undefined
    // A server may answer before it has read all that it was sent.
    if (this.#parser.isReusable && this.#socket?.writableLength === 0) {
      this.#idleSince = performance.now()
      this.#socket.unref()
      this.#pool.put(this)
    } else this.close()
    listener.done()
  }

  #closed(): void {
    this.#pool.drop(this)
    const listener = this.#listener
    this.#listener = undefined
    if (listener === undefined) return
    // An abort closes it too, and then the answer is not complete.
    if (this.#isEnded && this.#parser.endsAtClose) listener.done()
    else listener.failed(this.#cause)
  }
}
