import type { Output } from "../output.ts"

/** One subcommand of `policy`. It returns the exit code. */
export interface Subcommand {
  run(argument: string | undefined, values: PolicyValues, output: Output): Promise<number>
}

export interface PolicyValues {
  readonly policy?: string
  readonly workspace?: string
  readonly tool?: readonly string[]
  readonly host?: string
  readonly port?: string
  readonly audit?: string
  readonly json?: boolean
}
