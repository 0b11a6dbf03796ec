import { malformed, shown } from "./file-patch.ts"

/** The name in a line such as `--- a/path<tab>date`, still with git's `a/`; null: no such file. */
export function nameIn(rest: string): string | null {
  const line = rest.trimEnd()
  const [behind, day, time, hours, minutes] = dateBehind.exec(line) ?? []
  const before = behind === undefined ? line : line.slice(0, -behind.length)
  const name = line.startsWith('"') ? unquote(line) : (before.split("\t", 1)[0] ?? "").trimEnd()
  if (name === "") throw malformed(`The line ${shown(rest)} of the patch does not name a file.`)
  // GNU diff uses the epoch as the date of an absent file.
  const isNowhere = hours !== undefined && Date.parse(`${day}T${time}${hours}:${minutes}`) === 0
  return name === "/dev/null" || isNowhere ? null : name
}

/** GNU diff writes a tab before it; copying a patch may turn that into spaces. */
const dateBehind = /\s(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d+)?(?: ([+-]\d\d)(\d\d))?$/

/** Removes git's prefixes if both sides have them. */
export function withoutPrefixes(
  oldName: string | null,
  newName: string | null,
): readonly [oldName: string | null, newName: string | null] {
  const [oldMark, oldRest] = split(oldName)
  const [newMark, newRest] = split(newName)
  if (oldName !== null && newName !== null) {
    if (prefixPairs.includes(`${oldMark}${newMark}`)) return [oldRest, newRest]
    // One side has its prefix, the other does not.
    if (oldMark === "a" && oldRest === newName) return [newName, newName]
    if (newMark === "b" && newRest === oldName) return [oldName, oldName]
    return [oldName, newName]
  }
  return [oldMark === "a" ? oldRest : oldName, newMark === "b" ? newRest : newName]
}

/** Old and new; also those of `diff.mnemonicPrefix`: commit, index, object, working tree. */
const prefixPairs = ["ab", "ci", "cw", "iw", "ow"]

function split(name: string | null): readonly [mark: string, rest: string] {
  const [, mark = "", rest = ""] = /^([a-z])\/(.+)$/s.exec(name ?? "") ?? []
  return [mark, rest]
}

/** Both names of `diff --git a/x b/x`, which has no unambiguous separator: they can be split if they are equal. */
export function namesInGitHeader(rest: string): readonly [oldName: string, newName: string] | undefined {
  const line = rest.trimEnd()
  if (line.startsWith('"')) {
    const [first = ""] = /^"(?:[^"\\]|\\.)*"/.exec(line) ?? []
    const second = line.slice(first.length).trim()
    return [unquote(first), second.startsWith('"') ? unquote(second) : second]
  }
  const middle = line.length >> 1
  const [oldName, newName] = [line.slice(0, middle), line.slice(middle + 1)]
  const isSame = line[middle] === " " && oldName.replace(/^\w\//, "") === newName.replace(/^\w\//, "")
  return isSame ? [oldName, newName] : undefined
}

/** Git's notation for names with unusual characters: a C string with UTF-8 bytes. */
export function unquote(quoted: string): string {
  const bytes: number[] = []
  const inner = /^"((?:[^"\\]|\\.)*)"/.exec(quoted)?.[1]
  if (inner === undefined) throw malformed(`The name ${shown(quoted)} in the patch has no closing quote.`)
  for (const [, octal, letter, plain = ""] of inner.matchAll(/\\([0-7]{1,3})|\\(.)|([^\\]+)/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8) & 0xff)
    else bytes.push(...new TextEncoder().encode(letter === undefined ? plain : (escapes[letter] ?? letter)))
  }
  return new TextDecoder().decode(Uint8Array.from(bytes))
}

const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
}
