import type { JsonObject } from "../contract/json.ts"
import type { Logger } from "../contract/run.ts"
import { visible } from "./format.ts"
import type { Output } from "./output.ts"

/** Writes everything that the runtime logs to stderr, one line each; an exception's stack follows its line. */
export function debugLogger({ complain, errorColours }: Output): Logger {
  const at =
    (level: string) =>
    (message: string, data: JsonObject = {}) => {
      const { stack, ...rest } = data
      const details = Object.keys(rest).length === 0 ? "" : ` ${errorColours.dim(visible(JSON.stringify(rest)))}`
      complain(`${errorColours.dim(level)} ${visible(message)}${details}`)
      if (typeof stack === "string") for (const line of visible(stack).split("\n")) complain(`    ${line.trim()}`)
    }
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") }
}
