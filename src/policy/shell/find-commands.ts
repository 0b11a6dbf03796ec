import type { Call, Listing } from "./listing.ts"
import { reject } from "./unreadable.ts"

/**
 * The commands behind `-exec` and its relatives. `-delete` stays a word of `find` itself; the files that `-fprint` and
 * its relatives write are added as redirects.
 */
export function findCommands(call: Call, listing: Listing): readonly Call[] {
  if (call.isOpen || call.words.some(({ isFixed }) => !isFixed)) {
    reject("find has computed arguments, which may be commands")
  }
  const found: Call[] = []
  // Every `-exec` counts, also one that could be an argument: in `-name -exec -exec rm {} ;` only the second is an action.
  for (let at = 1; at < call.words.length; at++) {
    const action = call.words[at]?.text ?? ""
    const file = call.words[at + 1]
    if (/^-f(print0?|printf|ls)$/.test(action) && file) listing.addRedirect("write", file)
    if (!/^-(exec|ok)(dir)?$/.test(action)) continue
    if (action.endsWith("dir")) listing.changesFolder = true
    const end = call.words.findIndex(({ text }, index) => {
      return index > at && (text === ";" || (text === "+" && call.words[index - 1]?.text === "{}"))
    })
    if (end === -1) reject(`find ${action} has no end`)
    const words = call.words.slice(at + 1, end)
    found.push({
      words: words.map((word) => (word.text.includes("{}") ? { ...word, isFixed: false, isOne: false } : word)),
      isOpen: call.words[end]?.text === "+",
      variables: call.variables,
      isProgram: true,
    })
  }
  return found
}
