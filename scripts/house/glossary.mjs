// The glossary of ARCHITECTURE.md, as far as a program can check it: the words that the code does not use.

/** The words in backticks in the last column of the table below "## Glossary". */
export function unusedWords(architecture) {
  const [, section = ""] = architecture.split(/^## Glossary$/m)
  const rows = section.split(/^## /m)[0].split("\n")
  const last = rows.filter((row) => row.startsWith("|")).map((row) => row.split("|").at(-2) ?? "")
  return last.flatMap((cell) => Array.from(cell.matchAll(/`(\w+)`/g), ([, word]) => word))
}

/** The names of a file that are one of the words or begin with one: `MOST_` forbids `MOST_TURNS`, `Seat` also `Seats`. */
export function namesWith(words, { path, names }) {
  return [...names].flatMap((name) => {
    const word = words.find((each) => name.startsWith(each))
    return word === undefined ? [] : [{ path, name, word }]
  })
}
