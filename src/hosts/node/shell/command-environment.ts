import { markVariable } from "./process-sweep.ts"

type Variables = Readonly<Record<string, string | undefined>>

export interface CommandEnvironmentOptions {
  /** Variables for every command, over all others. */
  readonly env?: Readonly<Record<string, string>>
  /** Names of this process's variables that commands get too. By default they get PATH, HOME, locale and the like. */
  readonly passEnv?: readonly string[]
}

/** Only what is named: whatever else this process knows, keys above all, is not a command's business. */
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
