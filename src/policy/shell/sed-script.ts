/** True unless the scripts in the arguments of sed certainly only print, remove and replace text. */
export function sedReachesFurther(args: readonly string[]): boolean {
  const found = scriptsIn(args)
  return found === undefined || !found.every(isHarmless)
}

/** Undefined: a script is in a file. */
function scriptsIn(args: readonly string[]): readonly string[] | undefined {
  const scripts: string[] = []
  const operands: string[] = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ""
    if (word === "--") {
      operands.push(...args.slice(at + 1))
      break
    }
    // Long options can be abbreviated.
    const [, long, value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word) ?? []
    const [, flags = "", letter, rest = ""] = /^-([nErsuzb]*)([a-zA-Z])?(.*)$/s.exec(word) ?? []
    if (long !== undefined) {
      if ("file".startsWith(long)) return undefined
      if ("expression".startsWith(long)) scripts.push(value ?? args[++at] ?? "")
    } else if (word === "-" || (flags === "" && letter === undefined)) operands.push(word)
    else if (letter === "f") return undefined
    else if (letter === "e") scripts.push(rest === "" ? (args[++at] ?? "") : rest)
    else if (letter === "l" && rest === "") at++
  }
  return scripts.length > 0 ? scripts : operands.slice(0, 1)
}

const delimited = String.raw`(?:(?!\k<d>)[^\\\n]|\\[^])*\k<d>`
const pattern = String.raw`(?:/(?:[^/\\\n]|\\[^])*/|\\(?<d>[^\\\n])${delimited})[IM]*`
const address = (name: string) => String.raw`(?:\d+(?:~\d+)?|\$|${pattern.replaceAll("d>", `${name}>`)})`
const commands = [
  "[=dDFgGhHnNpPxz]",
  String.raw`[lLqQ](?:\s*\d+)?`,
  String.raw`[:btT](?:\s*[\w-]+)?`,
  String.raw`s(?<d>[^\\\n])${delimited}${delimited}[gpiImM\d]*`,
  String.raw`y(?<d>[^\\\n])${delimited}${delimited}`.replaceAll("d>", "y>"),
]
// No two parts that match the same text stand together, so that no script takes long.
const head = String.raw`[\s;{}]*(?:${address("from")}(?:\s*,\s*[~+]?${address("to")})?[\s!]*|![\s!]*)?`
const step = new RegExp(String.raw`${head}(?:(?:${commands.join("|")})\s*(?:[;\n}]|#[^\n]*|$)|[;\n{}]|#[^\n]*|$)`, "y")
/** Text up to the end of its lines. */
const insertion = new RegExp(String.raw`${head}[aic](?:[^\\\n]|\\[^])*(?:\n|$)`, "y")

/** No command of it opens a file or starts a program. */
function isHarmless(given: string): boolean {
  const [, script] = /^"(.*)"$/s.exec(given) ?? [undefined, given]
  for (let at = 0; at < script.length; ) {
    const isStep = [step, insertion].some((each) => {
      each.lastIndex = at
      const isFound = each.test(script) && each.lastIndex > at
      if (isFound) at = each.lastIndex
      return isFound
    })
    if (!isStep) return false
  }
  return true
}
