import type { BackendEnv, LineChannel, ProgramSpec } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import { delay } from "../../lib/abort.ts"
import { textOrEmpty } from "../../lib/json.ts"
import { createRetry, type RetryPolicy } from "../../lib/retry.ts"
import { JsonRpc, type JsonRpcOptions } from "../shared/json-rpc.ts"
import { notLoggedIn, replyError } from "./failures.ts"
import { listOf, objectOf } from "./protocol.ts"
import { type HookState, hookCommand } from "./settings.ts"

/** A running app-server that has been greeted. */
export interface Connection {
  readonly channel: LineChannel
  readonly rpc: JsonRpc
  readonly version: string
  /** Where it keeps its login and its sessions. */
  readonly home: string
}

export type Handlers = Pick<JsonRpcOptions, "onLine" | "onNotification" | "onRequest">

/** Remembers the hash of the hook, so that only the first session has to start the program twice. */
export interface TrustMemory {
  known?: HookState
}

/**
 * Starts the program and greets it. Programs that are started at the same time in a new folder disturb each other while they create
 * its database: all but one end, and work when they are started again.
 */
export async function connect(env: BackendEnv, program: ProgramSpec, handlers: Handlers): Promise<Connection> {
  const retry = createRetry(startRetry)
  for (;;) {
    try {
      return await greeted(env, program, handlers)
    } catch (error) {
      const isDisturbed = LonghaulError.is(error) && /failed to initialize .*state runtime/.test(error.message)
      const delayMs = isDisturbed ? retry.delayAfter(error) : null
      if (delayMs === null) throw error
      await delay(delayMs)
    }
  }
}

const startRetry: RetryPolicy = { attempts: 8, firstMs: 100, longestMs: 2000 }

async function greeted(env: BackendEnv, program: ProgramSpec, handlers: Handlers): Promise<Connection> {
  if (!env.spawn) {
    throw new LonghaulError("capability_mismatch", "Codex needs a host with processes.", {
      fix: "Use the runtime of longhaul/node.",
    })
  }
  const channel = await env.spawn(program)
  try {
    const { openMs, replyMs } = env.deadlines
    const rpc = new JsonRpc(channel, {
      name: "Codex",
      versioned: false,
      replyMs,
      toError: replyError,
      onLine: () => handlers.onLine?.(),
      onNotification: (method, params) => handlers.onNotification(method, params),
      onRequest: (method, params) => handlers.onRequest(method, params),
    })
    const { clientInfoName: name, clientInfoTitle: title, mcpClientVersion: version } = env.brand
    // Tools of the runtime and the injection of results are experimental.
    const capabilities = { experimentalApi: true, requestAttestation: false }
    const greeting = { clientInfo: { name, title, version }, capabilities }
    const reply = objectOf(await rpc.request("initialize", greeting, { replyMs: openMs }))
    await rpc.notify("initialized")
    const [, found = "unknown"] = /\/(\d+\.\d+\.\d+\S*)/.exec(textOrEmpty(reply.userAgent)) ?? []
    return { channel, rpc, version: found, home: textOrEmpty(reply.codexHome) }
  } catch (error) {
    await channel.end("kill")
    throw error
  }
}

/**
 * Starts the program so that it runs our hook. Codex runs only hooks whose hash is declared as trusted, and it alone
 * computes the hash: an untrusted start reports it, the next start declares it.
 */
export async function connectGated(
  start: (trusted: HookState | undefined) => Promise<Connection>,
  cwd: string,
  memory: TrustMemory,
): Promise<Connection> {
  for (const isLast of [false, true]) {
    const connection = await start(memory.known)
    try {
      const hook = ourHook(await connection.rpc.request("hooks/list", { cwds: [cwd] }))
      if (hook?.isTrusted) return connection
      if (hook === undefined || isLast) throw ungated()
      memory.known = hook.state
      await connection.channel.end("ask")
    } catch (error) {
      await connection.channel.end("kill")
      throw error
    }
  }
  throw ungated()
}

/** Rejects with `auth` if the model provider needs a login and there is none. */
export async function checkLogin({ rpc }: Connection): Promise<void> {
  const { account, requiresOpenaiAuth } = objectOf(await rpc.request("account/read", { refreshToken: false }))
  if (requiresOpenaiAuth === true && (account === null || account === undefined)) throw notLoggedIn()
}

function ourHook(reply: Json) {
  const hooks = listOf(objectOf(reply).data).flatMap((entry) => listOf(objectOf(entry).hooks).map(objectOf))
  const ours = hooks.find(({ command, eventName }) => command === hookCommand && eventName === "preToolUse")
  if (ours === undefined) return undefined
  const isTrusted = ours.trustStatus === "trusted" && ours.enabled === true
  return { isTrusted, state: { key: textOrEmpty(ours.key), hash: textOrEmpty(ours.currentHash) } }
}

function ungated(): LonghaulError {
  return new LonghaulError(
    "backend_protocol",
    "Codex does not accept the hook that keeps its tools behind the policy.",
    {
      fix: "Use a supported version of Codex, and allow hooks in its requirements.",
    },
  )
}
