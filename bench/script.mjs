/**
 * What server and clients have agreed on: scenario → model name, the words of every turn, what the tool returns and what
 * the final text must be. Pure, so that either side can check the other exactly.
 *
 * @typedef {{ turns: number, deltas: number, latencyMs: number, paceMs?: number }} Script
 *   `paceMs`: every event is a packet of its own, this long after the one before
 */

/**
 * A few carry what JSON must escape, as real text does. All ASCII: one wide character makes a floor's whole history a
 * two-byte string, which is markedly dearer to serialise and send.
 */
const pieces = [
  "Reading the next file",
  " to see what it holds",
  ", then the one after.",
  '\nIt says "not so fast',
  '" where the plan said',
  " to hurry, so I check",
  " each step, twice or ",
  "more, and make a note",
  " before I go any farth",
  "er along this road.\n\n",
]

/** @param {Script} script */
export const modelName = ({ turns, deltas, latencyMs, paceMs = 0 }) =>
  `bench-t${turns}-d${deltas}-l${latencyMs}-p${paceMs}`

/** @returns {Script | undefined} */
export function parseModelName(name) {
  const match = /^bench-t(\d+)-d(\d+)-l(\d+)-p(\d+)$/.exec(name)
  if (!match) return undefined
  const [turns, deltas, latencyMs, paceMs] = match.slice(1).map(Number)
  return { turns, deltas, latencyMs, paceMs }
}

export const task = (id) => `bench-run ${id}; call step until you are done.`

/** The run of a request, found without parsing it. */
export const taskMark = "bench-run "

export const deltaText = (index) => pieces[index % pieces.length]

export const turnText = (deltas) => Array.from({ length: deltas }, (_, index) => deltaText(index)).join("")

export const stepResult = (id, n) => `step ${n} of ${id} is done`

/** The model's text in the last turn after its ordinary deltas. */
export const closing = (lastResult) => `The last result was: ${lastResult ?? "none"}`

/** @param {Script} script */
export function finalText(script, id) {
  return turnText(script.deltas) + closing(script.turns > 1 ? stepResult(id, script.turns - 2) : undefined)
}
