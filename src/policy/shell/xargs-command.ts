import type { Call, ReadWord } from "./listing.ts"
import { reject } from "./unreadable.ts"
import { afterOptions } from "./wrappers.ts"

const NUMBER = /^\d+$/
const TEXT = /^/
const OPTIONS = {
  flags: /^(-[0rtx]+|-[nPLs]\d+|-d.+|--null|--no-run-if-empty|--max-(args|procs|lines)=\d+|-I.+)$/s,
  values: { "-n": NUMBER, "-P": NUMBER, "-L": NUMBER, "-s": NUMBER, "-d": TEXT, "-I": TEXT },
}

/** The command that `xargs` runs: more words follow from its input, or replace a part of the given ones (`-I`). */
export function xargsCommand(call: Call): Call {
  const at = afterOptions(call, "xargs", OPTIONS)
  const given = call.words.slice(at)
  if (given.length === 0 && call.isOpen) reject("the command behind xargs is not in the line")
  const echo: ReadWord = { text: "echo", isFixed: true, isOne: true }
  const placeholders = replaced(call.words.slice(1, at))
  const words = (given.length === 0 ? [echo] : given).map((word) =>
    placeholders.some((each) => word.text.includes(each)) ? { text: word.text, isFixed: false, isOne: false } : word,
  )
  return { words, isOpen: true, variables: call.variables, isProgram: true }
}

function replaced(options: readonly ReadWord[]): readonly string[] {
  return options.flatMap(({ text, isFixed }, index) => {
    if (!text.startsWith("-I")) return []
    const placeholder = text === "-I" ? options[index + 1] : { text: text.slice(2), isFixed }
    if (!placeholder?.isFixed) return reject("the placeholder of xargs is computed")
    return [placeholder.text]
  })
}
