import type { Redirect, ShellCommand, Word } from "./command-line.ts"

/** How a program uses the paths that are its arguments. Undefined: it may do both. */
export function usesOfProgram({ words: [program, ...args] }: ShellCommand): "read" | "write" | undefined {
  // A program of the same name elsewhere may do anything.
  const name = program?.text.replace(/^\/(usr\/)?bin\//, "") ?? ""
  const mayWrite = outputOptions.has(name) && args.some(({ text, isFixed }) => !isFixed || outputOption(name, text))
  if (readers.has(name) && !mayWrite) return "read"
  return writers.has(name) ? "write" : undefined
}

const readers: ReadonlySet<string> = new Set(
  (
    "[ b2sum basename cat cksum cmp comm cut diff dirname du egrep expand fgrep file fold grep head hexdump " +
    "jq ls md5sum nl od paste readlink realpath rg sha1sum sha224sum sha256sum sha384sum sha512sum sort stat strings sum tac " +
    "tail test tr unexpand wc"
  ).split(" "),
)
const writers: ReadonlySet<string> = new Set(
  "chgrp chmod chown mkdir mkfifo mktemp rm rmdir tee touch truncate".split(" "),
)

/** Programs that write to a file that an option names, although they are known to read. */
const outputOptions: ReadonlyMap<string, RegExp> = new Map([
  ["git", /^--output(?:=(.*))?$/s],
  ["sort", /^(?:-[A-Za-z]*?o|--o[a-z]*=?)(.*)$/s],
])

function outputOption(name: string, text: string): RegExpExecArray | undefined {
  return outputOptions.get(name)?.exec(text) ?? undefined
}

/** Files that options make a command write or read, as a redirect would: a permission for its words does not cover them. */
export function redirectsOfOptions(command: ShellCommand): readonly Redirect[] {
  const [program, ...args] = command.words
  const name = nameOf(program)
  const written = args.flatMap((word, index): Redirect[] => {
    const found = outputOption(name, word.text)
    if (!found) return []
    const target = found[1] ? { ...word, text: found[1] } : args[index + 1]
    return [{ access: "write", target: target ?? { text: "", isFixed: false } }]
  })
  const folders = foldersOf(command)
  return [...written, ...(name === "git" ? comparedByGit(args) : [])].map(({ access, target }) => {
    return { access, target: { ...target, text: pathsIn(folders, target.text)[0] ?? target.text } }
  })
}

/** `git diff` compares any two files with an option for it, or if one of them is outside the repository. */
function comparedByGit(args: readonly Word[]): readonly Redirect[] {
  const start = args.findIndex(({ text }) => text === "diff")
  if (start === -1) return []
  const files = args.slice(start + 1).filter(({ text }) => !/^-./.test(text) && text !== "/dev/null")
  const isAny = args.some(({ text, isFixed }) => isFixed && (text === "--no-index" || /^(\/|~|\.\.(\/|$))/.test(text)))
  return isAny ? files.map((target) => ({ access: "read", target })) : []
}

/** Folders that the paths of a command start from: its own, or one that an option changes to, as with `git -C a` and `tar -C a`. */
export function foldersOf({ words: [program, ...args] }: ShellCommand): readonly string[] {
  const isGit = nameOf(program) === "git"
  // Behind its command, git has other options of this name.
  const end = isGit ? args.findIndex(({ text }, index) => !/^-./.test(text) && args[index - 1]?.text !== "-C") : -1
  const texts = (end === -1 ? args : args.slice(0, end)).map(({ text }) => text)
  let folder = "."
  const changed = texts.flatMap((text, index) => {
    const next = texts.slice(index + 1)
    // Among other letters, the values of options follow in their order.
    if (/^-[A-Za-z]+C$|^-[A-Za-z]*C[A-Za-z]+$/.test(text) || (index === 0 && /^[A-Za-z]*C[A-Za-z]*$/.test(text))) {
      return next.slice(0, 3)
    }
    const [, given] = /^(?:-C|--(?:directory|cd|cwd|chdir|prefix)(?:=|$))(.*)$/s.exec(text) ?? []
    if (given === undefined) return []
    const to = given === "" ? (next[0] ?? ".") : given
    folder = to.startsWith("/") ? to : `${folder}/${to}`
    return [folder]
  })
  return isGit ? [folder] : [".", ...changed]
}

/** A path from each of the folders. */
export function pathsIn(folders: readonly string[], path: string): readonly string[] {
  if (/^[/~]/.test(path)) return [path]
  return folders.map((folder) => (folder === "." ? path : `${folder}/${path}`))
}

/** Commands whose purpose is to make links. */
export function makesLink({ words: [program, ...args] }: ShellCommand): boolean {
  const name = nameOf(program)
  if (name === "cp") return args.some(({ text, isFixed }) => !isFixed || /^(-[a-zA-Z]*[sl]|--(sym|link))/.test(text))
  return name === "ln" || name === "link"
}

/** Commands after which a path may lead elsewhere: they may make a link, or move one. */
export function changesPaths(command: ShellCommand): boolean {
  const [program, ...args] = command.words
  const name = nameOf(program)
  if (name === "git") return args.some(({ text }) => changingGit.has(text))
  return movers.has(name) || makesLink(command)
}

const movers: ReadonlySet<string> = new Set("7z 7za 7zr bsdtar cpio mv pax rsync tar unar unzip cp mount".split(" "))
const changingGit: ReadonlySet<string> = new Set(
  (
    "am apply bisect checkout checkout-index cherry-pick clone merge mv pull read-tree rebase reset restore revert " +
    "sparse-checkout stash submodule switch worktree"
  ).split(" "),
)

/** As some file systems know it. */
function nameOf(program: Word | undefined): string {
  return (program?.text ?? "").replace(/^.*\//s, "").toLowerCase()
}
