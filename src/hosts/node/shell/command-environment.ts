import { markVariable } from "./process-sweep.ts"

type Variables = Readonly<Record<string, string | undefined>>

export interface CommandEnvironmentOptions {
  /** Variables for every command, overriding all others. */
  readonly env?: Readonly<Record<string, string>>
  /** Names of this process's variables that commands also get. By default they get PATH, HOME, locale and similar. */
  readonly passEnv?: readonly string[]
}

/** Only named variables: other variables of this process, above all keys, must not reach a command. */
export function commandEnvironment(
  { env = {}, passEnv = [] }: CommandEnvironmentOptions,
  { mark, home, from = process.env }: { readonly mark: string; readonly home?: string; readonly from?: Variables },
): Record<string, string> {
  const kept = Object.entries(from).filter(
    ([name, value]) => value !== undefined && (passed.test(name) || passEnv.includes(name)),
  )
  return {
    ...(Object.fromEntries(kept) as Record<string, string>), // Safe: undefined values are filtered out above.
    TERM: "dumb",
    ...(home !== undefined && { HOME: home, TMPDIR: "/tmp" }),
    ...env,
    [markVariable]: from[markVariable] === undefined ? mark : `${from[markVariable]}:${mark}`,
  }
}

const passed = /^(PATH|HOME|LANG|LANGUAGE|LC_[A-Z]+|TMPDIR|USER|LOGNAME|SHELL|TZ)$/
