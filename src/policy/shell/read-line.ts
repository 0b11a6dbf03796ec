import { checkCharacters } from "./characters.ts"
import type { CommandLine } from "./command-line.ts"
import { Listing } from "./listing.ts"
import { readScript } from "./read-script.ts"
import { Unreadable } from "./unreadable.ts"

/**
 * Lists every command that a line can run if `/bin/sh -c` gets it, whether sh is dash or bash. A line that they read
 * differently, or that hides what it runs, is unreadable. Listing too much is safe, listing too little is not.
 * Loads a parser of 480 KB: import this file only when a line has to be read.
 */
export function readCommandLine(line: string): CommandLine {
  try {
    checkCharacters(line)
    const listing = new Listing()
    readScript(line, listing, { variables: [], depth: 0 })
    const { commands, redirects, changesFolder } = listing
    return { isReadable: true, commands, redirects, changesFolder }
  } catch (error) {
    // The parser and the visitors recurse: a deeply nested line may exhaust the stack.
    return { isReadable: false, reason: error instanceof Unreadable ? error.message : "the parser failed" }
  }
}
