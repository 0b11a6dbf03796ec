import { reject } from "./unreadable.ts"

const MAX_LENGTH = 16 * 1024

// Controls (except tab and newline), invisible and reordering characters, blanks other than the space, lone surrogates:
// shells split or decode them differently, and people cannot see them.
const REJECTED = /(?![\t\n ])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Zs}]/u

/** Rejects lines that are too long to read in bounded time, and characters that a shell and a reader see differently. */
export function checkCharacters(line: string): void {
  if (line.length > MAX_LENGTH) reject(`it is longer than ${MAX_LENGTH} characters`)
  const found = REJECTED.exec(line)?.[0]
  if (found === undefined) return
  const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")
  reject(`it contains the character U+${code}, which is invisible or a control character`)
}
