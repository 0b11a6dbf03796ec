import type { ShellCommand } from "./command-line.ts"
import { usesOfProgram } from "./programs.ts"

/** The addresses that a command may fetch, for refusals only. */
export interface NamedAddresses {
  readonly named: readonly string[]
  /** A word that may be one is computed. */
  readonly isOpen: boolean
}

/** The addresses in the words of a command, unless it is known to only show, edit or record them. */
export function addressesOf(command: ShellCommand): NamedAddresses {
  const [program, ...args] = command.words
  const name = (program?.text ?? "").replace(/^.*\//s, "").toLowerCase()
  const isFetcher = fetchers.has(name)
  const isLocal = !isFetcher && (usesOfProgram(command) !== undefined || talkers.has(name))
  if (isLocal || (name === "git" && !args.some(({ text }) => remoteGit.has(text)))) return { named: [], isOpen: false }
  const found = args.map(({ text, isFixed }) => ({ isFixed, urls: isFetcher ? addressesFor(text) : urlsIn(text) }))
  return {
    named: found.flatMap(({ urls, isFixed }) => (isFixed ? urls.filter((url) => URL.canParse(url)) : [])),
    isOpen:
      found.some(({ urls, isFixed }) => !isFixed && (isFetcher || urls.length > 0)) || (isFetcher && command.isOpen),
  }
}

/** Such a program needs no scheme. */
function addressesFor(text: string): readonly string[] {
  const urls = urlsIn(text)
  const host = text.replace(/^-[^=]*=?/, "")
  return urls.length > 0 || host === "" ? urls : [`http://${host}`, `https://${host}`]
}

function urlsIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]*/gi), ([url]) => url)
}

const fetchers: ReadonlySet<string> = new Set("aria2c curl elinks http https links lynx w3m wget wget2 xh".split(" "))
const talkers: ReadonlySet<string> = new Set(["echo", "printf", "sed", "awk"])
const remoteGit: ReadonlySet<string> = new Set("clone fetch ls-remote pull push remote submodule".split(" "))
