import { readFileSync } from "node:fs"

/** One system call, as seen by strace. It precedes another if it had ended when the other began. */
export interface SystemCall {
  readonly name: string
  readonly text: string
  /** Of its file: of its descriptor, else the first one it names. */
  readonly path: string
  /** If it creates a second name. */
  readonly target: string
  readonly began: number
  readonly ended: number
  readonly failed: boolean
}

/** How a program is started so that `readTrace` can parse its trace. */
export function tracing(file: string, more: readonly string[] = []): string[] {
  const calls = "open,openat,write,pwrite64,writev,fsync,fdatasync,link,linkat,rename,renameat2,mkdir,stat,statx"
  return ["strace", "-f", "-y", "-s", "1000000", "-o", file, "-e", `trace=${calls}`, ...more]
}

export function readTrace(file: string): SystemCall[] {
  const calls: SystemCall[] = []
  const open = new Map<string, { readonly text: string; readonly began: number }>()
  const lines = readFileSync(file, "utf8").split("\n")
  for (const [ended, line] of lines.entries()) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? []
    const half = rest.indexOf(" <unfinished ...>")
    if (half >= 0) {
      open.set(thread, { text: rest.slice(0, half), began: ended })
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
    const first = resumed && open.get(thread)
    const text = first ? first.text + resumed[1] : rest
    const name = /^(\w+)\(/.exec(text)?.[1]
    if (name === undefined) continue
    const named = Array.from(text.matchAll(/"([^"]*)"/g), ([, path]) => path)
    const path = /^\w+\(\d+<([^>]*)>/.exec(text)?.[1] ?? named[0] ?? ""
    const failed = / = -1 E\w+/.test(text)
    calls.push({ name, text, path, target: named[1] ?? "", began: first?.began ?? ended, ended, failed })
  }
  return calls
}

/** The content of a write, without strace's escapes of quotes. */
export function written({ text }: SystemCall): string {
  return text.replaceAll('\\"', '"')
}
