import type { OpenRequest, ToolCall } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { onAbort } from "../../lib/abort.ts"
import { textOrEmpty } from "../../lib/json.ts"
import { mcpParts } from "./calls.ts"
import type { Connection } from "./connection.ts"
import { listOf, numberOf, objectOf } from "./protocol.ts"
import { newThreadParameters, threadParameters } from "./settings.ts"
import { commandOutcome, historyItems, mcpOutcome } from "./translate.ts"

/** An open conversation with Codex. */
export interface Thread extends Connection {
  readonly id: string
  /** As Codex names it. */
  readonly cwd: string
  readonly model: string
  /** The sandbox of its commands. */
  readonly sandbox: Json
}

/** Starts a thread with the conversation of the journal, or resumes exactly the requested one. */
export async function openThread(
  connection: Connection,
  request: OpenRequest,
  { sandbox, openMs }: { readonly sandbox: string; readonly openMs: number },
): Promise<Thread> {
  const { rpc } = connection
  const { from } = request
  if (from.kind === "session") {
    const threadId = from.ref.id
    const params = { threadId, excludeTurns: true, ...threadParameters(request, sandbox) }
    const thread = read(connection, await rpc.request("thread/resume", params, { replyMs: openMs }))
    if (thread.id === threadId) return thread
    throw new LonghaulError("session_lost", "Codex resumed another session than the requested one.")
  }
  const params = newThreadParameters(request, sandbox)
  const thread = read(connection, await rpc.request("thread/start", params, { replyMs: openMs }))
  await inject(thread, historyItems(from.messages))
  return thread
}

/** Adds items to Codex's own record of the conversation. */
export async function inject({ rpc, id }: Thread, items: Json[]): Promise<void> {
  if (items.length > 0) await rpc.request("thread/inject_items", { threadId: id, items })
}

/** Runs one approved call of Codex's own tools, in the sandbox of the thread. */
export async function execute(
  thread: Thread,
  call: ToolCall,
  { shell, signal }: { readonly shell: string; readonly signal: AbortSignal },
): Promise<ToolOutcome> {
  const { command, patch } = objectOf(call.args)
  try {
    if (call.name === "Bash") return await runCommand(thread, [shell, "-lc", textOrEmpty(command)], signal)
    if (call.name === "ApplyPatch") return await runCommand(thread, ["apply_patch", textOrEmpty(patch)], signal)
    const parts = mcpParts(call.name)
    if (parts) return await callServer(thread, { ...parts, arguments: call.args }, signal)
    return failed(`${call.name} was approved, but has not run yet. Call it again with exactly the same arguments.`)
  } catch (error) {
    // It had begun: it is unknown how far it came.
    const why = LonghaulError.is(error) ? error.message : "unknown reason"
    return { status: "unknown", output: [{ type: "text", text: `${call.name} was interrupted: ${why}` }] }
  }
}

async function runCommand({ rpc, cwd, sandbox }: Thread, command: string[], signal: AbortSignal): Promise<ToolOutcome> {
  const processId = crypto.randomUUID()
  const unlink = onAbort(signal, () => {
    rpc.request("command/exec/terminate", { processId }).catch(() => undefined)
  })
  const params = { command, processId, cwd, sandboxPolicy: sandbox, disableTimeout: true }
  try {
    const reply = objectOf(await rpc.request("command/exec", params, { replyMs: null, signal }))
    return commandOutcome(`${textOrEmpty(reply.stdout)}${textOrEmpty(reply.stderr)}`, numberOf(reply.exitCode))
  } finally {
    unlink()
  }
}

async function callServer({ rpc, id }: Thread, params: JsonObject, signal: AbortSignal): Promise<ToolOutcome> {
  const reply = await rpc.request("mcpServer/tool/call", { threadId: id, ...params }, { replyMs: null, signal })
  const { content, isError } = objectOf(reply)
  return mcpOutcome(listOf(content), isError === true)
}

function failed(text: string): ToolOutcome {
  return { status: "error", output: [{ type: "text", text }] }
}

function read(connection: Connection, reply: Json): Thread {
  const { thread, cwd, model, sandbox = null } = objectOf(reply)
  return {
    ...connection,
    id: textOrEmpty(objectOf(thread).id),
    cwd: textOrEmpty(cwd),
    model: textOrEmpty(model),
    sandbox,
  }
}
