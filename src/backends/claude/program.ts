import type { LineChannel } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import { delay } from "../../lib/abort.ts"
import { isJsonObject } from "../../lib/json.ts"
import { lastWords } from "../../lib/text/before-cut.ts"
import type { Inbox } from "./inbox.ts"
import type { Delivery } from "./wire.ts"

/** Lets a program end by itself: it stores its session then. What is left after that is ended. */
export async function closeProgram(channel: LineChannel, stopMs: number): Promise<void> {
  channel.endInput()
  const patience = new AbortController()
  await Promise.race([channel.exit, delay(stopMs, patience.signal)])
  patience.abort()
  await channel.end("ask")
}

/** Why a program ended, for an error. Resolves when it has ended. */
export async function exitOf(channel: LineChannel): Promise<string> {
  const { code, signal, stderr } = await channel.exit
  const said = lastWords(stderr.trim(), 500)
  return `exit ${signal ?? code}${said === "" ? "" : `, ${said}`}`
}

/** Why a program has no session: what it wrote, or how it ended. `isDeaf`: it took no input. */
export async function whyNotOpened(
  inbox: Inbox<Delivery>,
  channel: LineChannel,
  { stopMs, isDeaf = false }: { readonly stopMs: number; readonly isDeaf?: boolean },
): Promise<LonghaulError> {
  const first = await Promise.race([inbox.next().catch(asFailure), delay(0).then(() => undefined)])
  if (LonghaulError.is(first)) return first
  const patience = new AbortController()
  // Its output ends a little before the program.
  const limit = delay(isDeaf || inbox.hasEnded ? stopMs : 0, patience.signal).then(() => undefined)
  const how = await Promise.race([exitOf(channel), limit])
  patience.abort()
  return notOpened(first, how)
}

function asFailure(error: unknown): LonghaulError | undefined {
  return LonghaulError.is(error) ? error : undefined
}

/** `first`: what the program wrote. `how`: why it ended; undefined if it still runs. */
function notOpened(first: Delivery | undefined, how: string | undefined): LonghaulError {
  const message = first?.kind === "message" && isJsonObject(first.message) ? first.message : {}
  const [error] = Array.isArray(message.errors) ? message.errors : []
  if (message.type === "result" && message.num_turns === 0 && /^No conversation found/.test(String(error))) {
    return sessionLost()
  }
  if (how === undefined) {
    return new LonghaulError("backend_protocol", "Claude did not open a session in time.", {
      fix: "Try again, or raise deadlines.openMs.",
    })
  }
  return new LonghaulError("backend_crashed", `Claude ended before its session was open: ${how}`, {
    fix: "Run the program by hand and read its output. A version before 2.1.325 may be too old: claude update",
  })
}

export function sessionLost(): LonghaulError {
  return new LonghaulError("session_lost", "Claude does not have the session, or no longer has it.", {
    fix: "Check its id, or continue from the journal of the run.",
  })
}

export function failsOpen(): LonghaulError {
  return new LonghaulError(
    "capability_mismatch",
    "This version of Claude runs a call if the decision about it fails.",
    {
      fix: "Update it: claude update",
    },
  )
}
