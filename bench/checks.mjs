import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { closing, finalText, stepResult } from "./script.mjs"

/** A figure counts only for completed work: each call once and in order, the final text exactly right. */
export function checkRun({ id, script, calls, received, text }) {
  const expected = finalText(script, id)
  same(calls.join(), [...Array(script.turns - 1).keys()].join(), `${id}: tool calls`)
  same(text, expected, `${id}: final text`)
  if (!received) return
  // Deltas from one socket read may be delivered together, but nothing may be held back until the end.
  if (received.length < 2) throw new Error(`${id}: the listener received ${received.length} deltas`)
  same(received.join("").slice(-expected.length), expected, `${id}: text received`)
}

/** Durable means on disk: every result and every final text is in a journal below `dir`. */
export async function checkJournals(dir, runs) {
  const found = new Set()
  for (const entry of await readdir(dir, { recursive: true })) {
    if (!entry.endsWith(".jsonl")) continue
    const journal = await readFile(join(dir, entry), "utf8")
    for (const [text] of journal.matchAll(/step \d+ of [\w-]+ is done|The last result was: [\w -]+/g)) found.add(text)
  }
  for (const { id, script } of runs) {
    const calls = script.turns - 1
    for (let n = 0; n < calls; n++) same(found.has(stepResult(id, n)), true, `${id}: result ${n} in the journal`)
    const last = closing(calls > 0 ? stepResult(id, calls - 1) : undefined)
    same(found.has(last), true, `${id}: final text in the journal`)
  }
}

/** Texts may be long: the message shows where they differ. */
function same(actual, expected, what) {
  if (actual === expected) return
  const [a, b] = [String(actual), String(expected)]
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const from = Math.max(0, at - 20)
  const show = (text) => JSON.stringify(text.slice(from, at + 40))
  throw new Error(`${what}: ${show(a)}, expected ${show(b)} (at ${at})`)
}
