/** The candidate that was probably meant; undefined if none is close. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const near = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((left, right) => left.distance - right.distance)[0]
  const isPrefix = candidates.find((candidate) => word.length > 1 && candidate.startsWith(word))
  // A swap of two neighbours is two edits.
  const allowed = (near?.candidate.length ?? 0) > 3 ? 2 : 1
  return near && near.distance <= allowed ? near.candidate : isPrefix
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substitution))
    }
    row = next
  }
  return row[right.length] ?? 0
}
