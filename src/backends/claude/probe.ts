import type { BackendEnv } from "../../contract/backend-env.ts"
import type { Probe } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import { delay } from "../../lib/abort.ts"
import { isJsonObject } from "../../lib/json.ts"
import { type ClaudeOptions, probeSpec, spawnOf } from "./launch.ts"

/** Checks whether the program is installed, its version, and whether it has a login. */
export async function probeClaude(options: ClaudeOptions, env: BackendEnv): Promise<Probe> {
  try {
    const version = /\d+\.\d+\.\d+\S*/.exec(await output(options, env, ["--version"]))?.[0]
    const status = await output(options, env, ["auth", "status"])
    return { found: true, ...(version !== undefined && { version }), login: loginIn(status) }
  } catch (error) {
    const failure = LonghaulError.is(error)
      ? error
      : new LonghaulError("backend_crashed", "Claude could not be asked for its version.", { cause: error })
    return { found: failure.code !== "backend_missing", login: "unknown", failure: failure.toJSON() }
  }
}

function loginIn(status: string): Probe["login"] {
  try {
    const told: unknown = JSON.parse(status)
    return isJsonObject(told) && typeof told.loggedIn === "boolean" ? (told.loggedIn ? "yes" : "no") : "unknown"
  } catch {
    return "unknown"
  }
}

async function output(options: ClaudeOptions, env: BackendEnv, args: readonly string[]): Promise<string> {
  const channel = await spawnOf(env)({ ...probeSpec(options), args })
  channel.endInput()
  const done = new AbortController()
  // Its output then ends.
  void delay(env.deadlines.openMs, done.signal).then(() => channel.end("kill"))
  const lines: string[] = []
  for await (const line of channel.lines) lines.push(line)
  done.abort()
  await channel.exit
  return lines.join("\n")
}
