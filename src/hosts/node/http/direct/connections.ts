import type { Socket } from "node:net"
import { defaultIdleLimits, type IdleLimits } from "../idle.ts"
import { type ResponseListener, ResponseParser } from "./response.ts"

/** How a connection's bytes are received: `onread` of `node:net`. */
export interface Reading {
  readonly buffer: Uint8Array
  callback(length: number, bytes: Uint8Array): boolean
}

/** Resolves with a writable socket; rejects with the reason why there is none. */
export type Connect = (reading: Reading, signal: AbortSignal | undefined) => Promise<Socket>

/** Receives the progress of an exchange: `done` or `failed` comes last, and once. */
export interface ExchangeListener extends ResponseListener {
  done(): void
  failed(cause: unknown): void
}

/** Pools by key. A pool is dropped with its last connection. */
export class ConnectionPools {
  readonly #pools = new Map<string, ConnectionPool>()
  readonly #limits: IdleLimits

  constructor(limits: IdleLimits = defaultIdleLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#pools.size
  }

  of(key: string, connect: Connect): ConnectionPool {
    const known = this.#pools.get(key)
    if (known) return known
    const pool = new ConnectionPool(connect, this.#limits, () => this.#pools.delete(key))
    this.#pools.set(key, pool)
    return pool
  }
}

/** Connections that any request of the pool may use. Idle ones are limited in number and time. */
export class ConnectionPool {
  readonly #connect: Connect
  readonly #limits: IdleLimits
  readonly #emptied: () => void
  /** The longest idle one comes first. */
  readonly #idle: Connection[] = []
  #count = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(connect: Connect, limits: IdleLimits, emptied: () => void) {
    this.#connect = connect
    this.#limits = limits
    this.#emptied = emptied
  }

  /** An idle one, most recently used first. */
  take(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      if (!connection?.isStale) return connection
      connection.close()
    }
  }

  async open(signal: AbortSignal | undefined): Promise<Connection> {
    const connection = new Connection(this)
    this.#count++
    try {
      connection.use(await this.#connect({ buffer: readBuffer, callback: connection.read }, signal))
    } catch (cause) {
      this.drop(connection)
      throw cause
    }
    return connection
  }

  put(connection: Connection): void {
    if (this.#idle.length >= this.#limits.mostIdle) connection.close()
    else this.#idle.push(connection)
    this.#timer ??= setTimeout(() => this.#closeRested(), this.#limits.idleMs).unref()
  }

  /** It is closed, or never was open. */
  drop(connection: Connection): void {
    const index = this.#idle.indexOf(connection)
    if (index !== -1) this.#idle.splice(index, 1)
    if (--this.#count === 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#emptied()
    }
  }

  #closeRested(): void {
    const now = performance.now()
    for (const connection of this.#idle) if (connection.restedMs(now) >= this.#limits.idleMs) connection.close()
    const next = this.#idle.find((connection) => connection.restedMs(now) < this.#limits.idleMs)
    const left = next && Math.ceil(this.#limits.idleMs - next.restedMs(now))
    this.#timer = left === undefined ? undefined : setTimeout(() => this.#closeRested(), left).unref()
  }
}

/** Shared read buffer: incoming data is passed on before anything else is read. */
const readBuffer = new Uint8Array(64 * 1024)

/** A smaller body is sent together with its head: two writes cost more than a copy. */
const WORTH_COPYING = 64 * 1024

/** Servers close idle connections after their stated time, when a request may be on its way. */
const IDLE_MARGIN_MS = 1000

/** One exchange at a time. */
export class Connection {
  readonly #pool: ConnectionPool
  readonly #parser = new ResponseParser()
  #socket: Socket | undefined
  #listener: ExchangeListener | undefined
  #cause: unknown
  #restsSince = 0
  #isEnded = false

  constructor(pool: ConnectionPool) {
    this.#pool = pool
  }

  get isStale(): boolean {
    const allowed = this.#parser.idleMs - IDLE_MARGIN_MS
    return this.#socket?.writable !== true || this.restedMs(performance.now()) >= allowed
  }

  restedMs(now: number): number {
    return now - this.#restsSince
  }

  /** Throws if the socket has failed since it was connected. */
  use(socket: Socket): void {
    if (socket.destroyed) throw socket.errored
    this.#socket = socket
    socket.on("error", (error) => {
      this.#cause ??= error
    })
    // Unsent data would keep the connection open needlessly.
    socket.on("end", () => {
      this.#isEnded = true
      this.close()
    })
    socket.on("close", () => this.#closed())
  }

  exchange(head: string, body: Uint8Array, listener: ExchangeListener): void {
    this.#listener = listener
    this.#parser.expect(listener)
    // Safe: a connection is lent out for an exchange once it is open.
    const socket = this.#socket as Socket
    socket.ref()
    if (body.length <= WORTH_COPYING) {
      const whole = Buffer.allocUnsafe(head.length + body.length)
      whole.write(head, "latin1")
      whole.set(body, head.length)
      socket.write(whole)
      return
    }
    // Not corked: Node takes far longer to join two pieces than the system to take them one by one.
    socket.write(head, "latin1")
    socket.write(body)
  }

  readonly read = (length: number, bytes: Uint8Array): boolean => {
    if (this.#listener === undefined) this.close()
    else {
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

  /** Ends an exchange one event loop iteration after its response: by then all data of that read was seen. */
  release(listener: ExchangeListener): void {
    if (this.#socket?.destroyed === false) {
      this.#restsSince = performance.now()
      this.#socket.unref()
      this.#pool.put(this)
    }
    listener.done()
  }

  #finish(listener: ExchangeListener): void {
    this.#listener = undefined
    // A server may respond before it has read the whole request.
    const isReusable = this.#parser.isReusable && this.#socket?.writableLength === 0
    // Bytes in another TLS record close the connection in the meantime: they must not become the next response.
    if (isReusable) setImmediate(release, this, listener)
    else {
      this.close()
      listener.done()
    }
  }

  #closed(): void {
    this.#pool.drop(this)
    const listener = this.#listener
    this.#listener = undefined
    if (listener === undefined) return
    // An abort closes it too, and then the response is not complete.
    if (this.#isEnded && this.#parser.endsAtClose) listener.done()
    else listener.failed(this.#cause)
  }
}

function release(connection: Connection, listener: ExchangeListener): void {
  connection.release(listener)
}
