import picocolors from "picocolors"
import type { Output } from "../../src/cli/output.ts"
import type { fakeTerminal } from "./fake-terminal.ts"

/** A command's output where both streams are one terminal without colours. */
export function terminalOutput(terminal: ReturnType<typeof fakeTerminal>): Output {
  const colours = picocolors.createColors(false)
  return {
    stdout: terminal,
    stderr: terminal,
    colours,
    errorColours: colours,
    print: (line) => terminal.write(`${line}\n`),
    complain: (line) => terminal.write(`${line}\n`),
    printJson: (value) => terminal.write(`${JSON.stringify(value)}\n`),
    onReaderGone: () => {},
    drained: async () => {},
  }
}
