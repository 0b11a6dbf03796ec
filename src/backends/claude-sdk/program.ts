import type { Deadlines, LineChannel } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { delay, orAborted } from "../../lib/abort.ts"
import { isJsonObject } from "../../lib/json.ts"
import { Inbox } from "../claude/inbox.ts"
import { closeProgram, exitOf, whyNotOpened } from "../claude/program.ts"
import { textIn } from "../claude/translate.ts"
import {
  type ClaudeProgram,
  type Delivery,
  hookOutput,
  MAX_DECISION_S,
  permitOutput,
  questionIn,
  userMessage,
} from "../claude/wire.ts"
import {
  type ClaudeAgentSdk,
  type ClaudeQuery,
  type HostOptions,
  INSTALL,
  type SessionOptions,
  type SpawnOptions,
} from "./sdk.ts"
import { HostProcess } from "./spawned.ts"

interface Start {
  readonly sdk: ClaudeAgentSdk
  readonly options: SessionOptions
  readonly deadlines: Deadlines
  spawn(program: SpawnOptions): Promise<LineChannel>
}

/** Starts a query of the SDK and returns it as a program that takes messages. */
export async function startQuery(start: Start): Promise<ClaudeProgram> {
  const inbox = new Inbox<Delivery>()
  const prompts = new Inbox<Json>()
  const started: Started = { broken: new AbortController() }
  const query = queryOf(start, inbox, prompts, started)
  void pump(query, inbox)
  try {
    return await opened(start.deadlines, { query, inbox, prompts, started })
  } catch (error) {
    query.close()
    await started.host?.channel.then(
      (channel) => channel.end("kill"),
      () => {},
    )
    throw error
  }
}

interface Parts {
  readonly query: ClaudeQuery
  readonly inbox: Inbox<Delivery>
  readonly prompts: Inbox<Json>
  readonly started: Started
}

interface Started {
  host?: HostProcess
  /** Aborts when its output is unreadable. */
  readonly broken: AbortController
}

async function opened(deadlines: Deadlines, { query, inbox, prompts, started }: Parts): Promise<ClaudeProgram> {
  const reply = await openedWithin(query, deadlines.openMs, started.broken.signal)
  const channel = await started.host?.channel
  if (channel === undefined) throw new LonghaulError("backend_crashed", "The Claude SDK did not start its program.")
  if (!isJsonObject(reply)) throw await whyNotOpened(inbox, channel, deadlines)
  return {
    version: textIn(reply, "claude_code_version"),
    next: () => inbox.next(),
    async send(content, id) {
      prompts.push(userMessage(content, id))
    },
    async interrupt() {
      await query.interrupt()
    },
    usage: () => usageOf(query, deadlines.replyMs),
    ended: exitOf(channel),
    async close() {
      prompts.end()
      await closeProgram(channel, deadlines.stopMs)
      query.close()
    },
    kill: () => channel.end("kill"),
  }
}

/** The SDK throws here if it has no program for this machine. */
function queryOf(
  { sdk, options, spawn }: Start,
  inbox: Inbox<Delivery>,
  prompts: Inbox<Json>,
  started: Started,
): ClaudeQuery {
  const all: SessionOptions & HostOptions = {
    ...options,
    ...questions(inbox),
    spawnClaudeCodeProcess(program) {
      started.host = new HostProcess(spawn(program), (error) => {
        inbox.end({ error })
        started.broken.abort()
      })
      return started.host
    },
  }
  try {
    // Safe: the lines and options are those of the SDK, whose types are not needed here.
    return sdk.query({ prompt: iterate(prompts) as AsyncIterable<never>, options: all as never })
  } catch (error) {
    throw new LonghaulError("backend_missing", "The Claude SDK could not start its program.", {
      fix: `Install it again with its optional packages: ${INSTALL}`,
      cause: error,
    })
  }
}

/** Both gates of the SDK, as questions in the order of its messages. */
function questions(inbox: Inbox<Delivery>): Pick<HostOptions, "hooks" | "canUseTool"> {
  return {
    hooks: {
      PreToolUse: [{ hooks: [(input) => askHook(inbox, input)], timeout: MAX_DECISION_S, onFailure: "block" }],
    },
    async canUseTool(name, input, { toolUseID, agentID, mcpServer }) {
      await messagesBefore()
      const facts = { tool_name: name, tool_use_id: toolUseID, ...(mcpServer && { mcp_server: { ...mcpServer } }) }
      const question = questionIn({ ...facts, ...(agentID !== undefined && { agent_id: agentID }) }, input)
      return new Promise((resolve) => {
        inbox.push({ kind: "permit", question, answer: (answer) => resolve(permitOutput(answer)) })
      })
    },
  }
}

async function askHook(inbox: Inbox<Delivery>, input: JsonObject): Promise<Json> {
  await messagesBefore()
  return new Promise((resolve) => {
    const question = questionIn(input, input.tool_input)
    inbox.push({ kind: "hook", question, answer: (answer) => resolve(hookOutput(answer)) })
  })
}

/** The SDK queues its messages and calls back at once: the messages that it has read are taken from its queue first. */
function messagesBefore(): Promise<void> {
  return delay(0)
}

/** The SDK throws after a result with an error, and when its program ends: the exit says why. */
async function pump(query: ClaudeQuery, inbox: Inbox<Delivery>): Promise<void> {
  try {
    // Safe: the SDK parsed it from JSON.
    for await (const message of query) inbox.push({ kind: "message", message: message as Json })
  } catch {
    // Reported by the exit of the program.
  }
  inbox.end()
}

async function* iterate(prompts: Inbox<Json>): AsyncGenerator<Json> {
  for (;;) {
    const prompt = await prompts.next()
    if (prompt === undefined) return
    yield prompt
  }
}

/** Undefined: the session is not open. */
async function openedWithin(query: ClaudeQuery, openMs: number, broken: AbortSignal): Promise<unknown> {
  const opened = new AbortController()
  const late = delay(openMs, opened.signal).then(() => undefined)
  try {
    const reply = query.initializationResult().catch(() => undefined)
    return await orAborted(Promise.race([reply, late]), broken)
  } finally {
    opened.abort()
  }
}

async function usageOf(query: ClaudeQuery, replyMs: number): Promise<Json | undefined> {
  const ask = query.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET?.bind(query)
  const answered = new AbortController()
  try {
    const late = delay(replyMs, answered.signal).then(() => undefined)
    const usage = await Promise.race([ask?.({ skipBehaviors: true }), late])
    return isJsonObject(usage) ? usage : undefined
  } catch {
    return undefined
  } finally {
    answered.abort()
  }
}
