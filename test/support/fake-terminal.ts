/** A terminal emulator for the sequences that we use: line feed, carriage return, cursor up and across, erase. */
export function fakeTerminal(columns: number) {
  let rows = [""]
  let row = 0
  let column = 0
  const written: string[] = []

  function put(character: string): void {
    const line = (rows[row] ?? "").padEnd(column)
    rows[row] = line.slice(0, column) + character + line.slice(column + 1)
    column++
  }

  return {
    isTTY: true,
    columns,
    write(text: string) {
      written.push(text)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is driven with.
      for (const token of text.match(/\u001b\[\d*[A-Z]|[\s\S]/gu) ?? []) {
        const count = Number(token.slice(2, -1) || 1)
        if (token === "\n") {
          row++
          column = 0
          rows[row] ??= ""
        } else if (token === "\r") column = 0
        else if (token.endsWith("A") && token.length > 1) row -= count
        else if (token.endsWith("G") && token.length > 1) column = count - 1
        else if (token.endsWith("J") && token.length > 1)
          rows = [...rows.slice(0, row), (rows[row] ?? "").slice(0, column)]
        else put(token)
      }
    },
    text: () => written.join(""),
    writes: () => written.length,
    lines: () => rows.filter((line) => line !== ""),
  }
}
