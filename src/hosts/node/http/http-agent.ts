import type { Agent, ClientRequestArgs } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { type ConnectOptions, defaultConnectTimeoutMs, limitConnect } from "./connect-limit.ts"
import { httpModule } from "./http-module.ts"
import { defaultIdleLimits, type IdleLimits } from "./idle.ts"
import type { Route } from "./route.ts"

/** A request with options that only our agents read. */
export interface PooledRequest extends ClientRequestArgs {
  /** Requests share connections only within one pool. */
  readonly pool: string
  readonly tunnel?: Route["tunnel"] | undefined
  /** Cancels the tunnel that only this request waits for. */
  readonly tunnelSignal?: AbortSignal | undefined
}

/**
 * A keep-alive agent of Node with stricter reuse. A response may be followed by unsolicited bytes: a connection is
 * reused one event loop iteration later, and not at all if anything arrives.
 */
export function keepAliveAgent(
  isSecure: boolean,
  options: ConnectOptions = {},
  { idleMs, mostIdle }: IdleLimits = defaultIdleLimits,
): Agent {
  const { connectTimeoutMs = defaultConnectTimeoutMs, ...certificates } = options
  const agent: Agent = new (httpModule(isSecure).Agent)({
    keepAlive: true,
    keepAliveMsecs: 60_000,
    maxFreeSockets: mostIdle,
    timeout: idleMs,
    ...certificates,
    ALPNProtocols: ["http/1.1"],
  })
  const connect = agent.createConnection.bind(agent)
  const reuse = agent.reuseSocket.bind(agent)

  agent.getName = (request) => pooled(request).pool
  agent.createConnection = (request, done) => {
    const { tunnel, tunnelSignal } = pooled(request)
    if (tunnel === undefined) return limited(connect(request))
    tunnel(connectTimeoutMs, tunnelSignal).then(
      (socket) => done?.(null, limited(connect(inTunnel(request, socket)))),
      // The callback's second argument is ignored if there is an error.
      (error) => done?.(error, undefined as unknown as Duplex),
    )
    return undefined
  }
  agent.reuseSocket = (socket, request) => {
    socket.off("data", destroySender)
    reuse(socket, request)
  }
  postponeRelease(agent)
  return agent

  function limited(socket: Duplex | null | undefined): Socket {
    // Node's own agents connect over `net` or `tls`.
    const connecting = socket as Socket
    limitConnect(connecting, isSecure ? "secureConnect" : "connect", connectTimeoutMs)
    // Node listens for errors only while a request or the pool holds the socket.
    connecting.on("error", ignore)
    return connecting
  }
}

/** An agent takes a connection back at `free`, within the read that brought the end of its response. */
function postponeRelease(agent: Agent): void {
  const release = agent.listeners("free")
  agent.removeAllListeners("free")
  agent.on("free", (socket: Socket, options: unknown) => {
    socket.on("data", destroySender)
    setImmediate(() => {
      for (const listener of release) listener.call(agent, socket, options)
    })
  })
}

/** TLS over a connected socket: an option of `tls.connect` that the types of agents omit. */
function inTunnel(request: ClientRequestArgs, socket: Socket): ClientRequestArgs {
  return Object.assign({}, request, { socket })
}

function destroySender(this: Socket): void {
  this.destroy()
}

function ignore(): void {}

function pooled(request: ClientRequestArgs | undefined): PooledRequest {
  // Safe: only our transport uses these agents, and it names a pool in each request.
  return request as PooledRequest
}
