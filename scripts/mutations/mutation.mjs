/**
 * One mutation: what it breaks, its edits `[file or folder, text, replacement]`, and the tests that must fail, each as
 * `[file, part of a test's name]`. Under a folder the text is looked for in every source file, so that code may move.
 */
export function mutation(name, edits, ...tests) {
  return { name, edits: edits.map(([file, find, replace]) => ({ file, find, replace })), tests }
}

/** One whose tests start the command line: it is bundled anew. */
export function programMutation(name, edits, ...tests) {
  return { ...mutation(name, edits, ...tests), isProgram: true }
}
