/** Does work for every item, at most `lanes` at a time. Rejects with the first failure and starts no further item. */
export async function inLanes<Item>(
  items: Iterable<Item>,
  lanes: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const next = items[Symbol.iterator]()
  let failed = false
  const lane = async () => {
    for (let each = next.next(); !each.done && !failed; each = next.next()) {
      await work(each.value).catch((error: unknown) => {
        failed = true
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
