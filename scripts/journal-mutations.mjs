// The holes and refuted shortcuts of the journal's protocol (docs: "the log is the lock"), as edits of our code. `find`
// must occur exactly once. Two have no place here: an inbox file that is opened and then written (a Folder can create a
// name only whole, the store cases hold it to that), and an owner that flags its own running call (flags are made by a
// take alone; a self-take calls nobody). F7 and F8 (unlink, truncate, rename): a Folder can neither truncate nor rename, and the
// journal never deletes.

const journal = "src/journal/journal.ts"
const appending = "src/journal/append-writer.ts"
const batch = "src/journal/batch.ts"
const creating = "src/journal/create-writer.ts"
const own = "src/journal/create-own.ts"
const ownership = "src/journal/ownership.ts"
const row = "src/journal/row.ts"
const reader = "src/journal/reader.ts"
const shard = "src/journal/shard.ts"
const disk = "src/testing/simulated-disk.ts"
const test = "src/journal"

const look = "        if (await this.#folder.exists(shardName(this.#top + 1))) throw fenced()\n"
const write = "        await file.write(this.#headless ? bytes.subarray(this.#ownership.claim.length) : bytes)\n"
const stands = "        if (!(await file.stands())) throw this.#lose(vanished(this.#folder, this.#top))\n"
const syncBase = "    await this.#folder.append?.sync(shardName(shard))\n"
const syncFolder = "          await this.#folder.append?.syncFolder()\n"
const openNext = `    const file = await this.#folder.append?.open(shardName(this.#top + 1), this.#ownership.claim)
    if (!file) throw fenced()\n`
const sendNext = "    if (this.#flushed.isEmpty) [this.#flushed, this.#riding] = [this.#riding, this.#flushed]\n"
const sendAll = `    for (const record of this.#riding.take()) this.#flushed.add(record)
    if (this.#riding.isWanted) this.#flushed.durable.then(() => this.#riding.resolve(), () => {})\n`
const ownBytes = "      if (found !== null) return equalBytes(found, bytes)\n"
const readAfterCreate = [
  "    const { known } = options\n",
  "    const head = options.afresh ? null : await findHead(folder, top, known?.head)\n",
  "    const history = head ? await historyOf(folder, head, known) : []\n",
]
const isSettled = `  try {
    await folder.append.sync(shardName(head.shard))
  } catch {
    return false
  }
`

/** One mutation: its name and its edits `[file, find, replace]`. */
function mutation(hole, ...edits) {
  return { hole, test, edits: edits.map(([file, find, replace]) => ({ file, find, replace })) }
}

export const mutations = [
  mutation("F1 no look after the append", [appending, look, ""]),
  mutation("F1 look before the append", [appending, write + look, look + write]),
  mutation("F1 no second look after a slow flush", [
    journal,
    "    if (await this.#folder.exists(shardName(this.#writer.top + 1))) throw fenced()\n",
    "",
  ]),
  mutation(
    "theorem: the predecessor is read before the create",
    [journal, readAfterCreate.join(""), ""],
    [
      journal,
      "  const append = folder.append\n",
      `${readAfterCreate.join("").replace(/^ {2}/gm, "")}  const append = folder.append\n`,
    ],
  ),
  mutation("F2 base is the top shard, headed or not", [
    journal,
    "head && { shard: head.shard, bytes: head.scanned.validBytes }",
    "head && { shard: top, bytes: head.shard === top ? head.scanned.validBytes : 0 }",
  ]),
  mutation("F3 base not synced", [appending, syncBase, ""]),
  mutation("F3 folder not synced", [appending, syncFolder, ""]),
  mutation(
    "F3 folder synced after the header",
    [appending, syncFolder, ""],
    [appending, write, `${write}    if (this.#headless) await this.#folder.append?.syncFolder()\n`],
  ),
  mutation(
    "F3 base synced after the header",
    [appending, syncBase, ""],
    [
      appending,
      write,
      `${write}    if (this.#headless && this.#good) await this.#folder.append?.sync(shardName(this.#good.shard))\n`,
    ],
  ),
  mutation("F4 a base whose sync failed is synced again and trusted", [appending, "    this.#lose(baseLost())\n", ""]),
  mutation(
    "F4 goes on in the same shard after a failed write",
    [appending, "    for (;;) {\n", "    for (let isSecond = false; ; isSecond = true) {\n"],
    [
      appending,
      "        await this.close()\n        if (isLast || isFenced(error) || this.#lost) throw error\n",
      "        if (isLast || isSecond || isFenced(error)) throw error\n",
    ],
  ),
  mutation(
    "F4 self-take counts the valid prefix",
    [appending, "import type { Position }", "import { type Position, scanShard }"],
    [
      appending,
      openNext,
      `${openNext}    const left = await this.#folder.read(shardName(this.#top))
    if (this.#good && left) this.#good = { shard: this.#top, bytes: scanShard(left).validBytes }\n`,
    ],
  ),
  mutation("F4 base moves before the flush is acknowledged", [
    appending,
    write,
    `        this.#good = { shard: this.#top, bytes: from + bytes.length }\n${write}`,
  ]),
  mutation("F4 self-take skips a shard that somebody else created", [
    appending,
    openNext,
    `    let file = await this.#folder.append?.open(shardName(this.#top + 1), this.#ownership.claim)
    while (!file) file = await this.#folder.append?.open(shardName(++this.#top + 1), this.#ownership.claim)\n`,
  ]),
  mutation("F5 reader without a look", [
    reader,
    "  return !(await folder.exists(shardName(head.shard + 1)))\n",
    "  return true\n",
  ]),
  mutation("F5 reader looks before it reads", [
    reader,
    "      unsettled = !(await isSettled(folder, head))\n",
    "      await isSettled(folder, head)\n      unsettled = folder.append !== undefined && head.shard !== top\n",
  ]),
  mutation("F5 reader without a sync", [reader, isSettled, ""]),
  mutation("F5 reader shows what could not be synced", [
    reader,
    "  } catch {\n    return false\n  }\n",
    "  } catch {\n    return true\n  }\n",
  ]),
  mutation("F5 records count at line ends, not flush ends", [
    shard,
    "    if (start + size >= bytes.length) return { lines, valid, flushBefore }\n",
    `    if (start + size >= bytes.length) {
      const whole = bytes.subarray(start, bytes.lastIndexOf(LF) + 1)
      if (whole.length === 0 || !addLines(lines, decoder.decode(whole.subarray(0, -2)))) return { lines, valid, flushBefore }
      return { lines, valid: start + whole.length, flushBefore: start }
    }\n`,
  ]),
  mutation(
    "F6 the top shard is adopted while it has no header",
    [journal, "import type { Position }", "import { type Position, scanShard }"],
    [
      journal,
      "  const top = options.fresh ? -1 : (options.after ?? (await findTop(folder)))\n",
      `  let top = options.fresh ? -1 : (options.after ?? (await findTop(folder)))
  const made = top < 0 ? null : await folder.read(shardName(top))
  if (made && scanShard(made).header === null) top--\n`,
    ],
    [
      disk,
      "          if (files.has(name)) return null\n",
      `          const old = files.get(name)
          if (old) return old.bytes.length <= first.length ? appendFile(old, name, step, () => true) : null\n`,
    ],
  ),
  mutation("a shard shows before its claim does", [
    disk,
    "{ bytes: first.slice(), durableLength: 0, durableName: false }\n          files.set(name, file)\n",
    `{ bytes: new Uint8Array(), durableLength: 0, durableName: false }
          files.set(name, file)
          await step("write", name)
          file.bytes = first.slice()\n`,
  ]),
  mutation("a take that is not on record is judged by the owner before", [
    reader,
    "  return { claim: bytes && claimOf(bytes) }\n",
    `  const below = await folder.read(shardName(top - 1))
  return { claim: bytes && below && claimOf(below) }\n`,
  ]),
  mutation("an abandoned take hides which shard it leaves", [
    journal,
    "    if (file) options.abandoned?.(owned?.shard ?? top + 1)\n",
    "",
  ]),
  mutation("a record is queued before its bytes exist", [
    batch,
    "    const line = jsonOf(record)\n    this.lines.add(line)\n    this.#records.push(record)\n",
    "    this.#records.push(record)\n    this.lines.add(jsonOf(record))\n",
  ]),
  mutation("a record that cannot be written takes a number", [
    journal,
    "    this.#riding.add(record)\n    this.#nextSeq++\n",
    "    this.#nextSeq++\n    this.#riding.add(record)\n",
  ]),
  mutation("a flush in a deleted shard is acknowledged", [appending, stands, ""]),
  mutation("an owner builds on a shard that was deleted", [
    appending,
    stands,
    stands.replace("this.#lose(vanished(this.#folder, this.#top))", "vanished(this.#folder, this.#top)"),
  ]),
  mutation("a deleted shard is looked for before the next one", [appending, look + stands, stands + look]),
  mutation("O1 M1 own write not recognised", [own, ownBytes, "      if (found !== null) return false\n"]),
  mutation("O1 unreadable slot concluded to be foreign", [
    own,
    ownBytes,
    "      return found !== null && equalBytes(found, bytes)\n",
  ]),
  mutation(
    "O2 own recognised by its writer only",
    [
      own,
      ownBytes,
      `      const writer = (given: Uint8Array) => JSON.parse(new TextDecoder().decode(given).split("\\n")[0] as string).writer
      if (found !== null) return writer(found) === writer(bytes)\n`,
    ],
    [journal, sendNext, sendAll],
  ),
  mutation("O2 other bytes after an ambiguous answer", [journal, sendNext, sendAll]),
  mutation("O3 no nonce", [ownership, "#writer = newNonce()", '#writer = "owner"']),
  mutation("O4 foreign slot, so the next one", [
    creating,
    "    if (!(await createOwn(this.#folder, shardName(slot), bytes))) throw fenced()\n",
    `    if (!(await createOwn(this.#folder, shardName(slot), bytes))) {
      this.#top = slot
      return this.write(lines)
    }\n`,
  ]),
  mutation("O5 creates are pipelined", [journal, "    if (this.#flushing) return\n", ""]),
  mutation("O8 a conflict is not tried again", [
    own,
    "      if (attempt >= CREATE_RETRIES || !mayPass(error)) throw error\n",
    "      throw error\n",
  ]),
  mutation("end mark without a checksum", [
    shard,
    "mark.from === begin + from && mark.crc === crcOf(bytes, from, mark.at)",
    "mark.from === begin + from",
  ]),
  mutation("end mark whose from is not checked", [
    shard,
    "mark.from === begin + from && mark.crc === crcOf(bytes, from, mark.at)",
    "mark.crc === crcOf(bytes, from, mark.at)",
  ]),
  mutation("damaged tail silently dropped", [row, "if (scanned.damaged || (isWhole", "if ((isWhole"]),
  mutation("damaged first flush taken for a void shard", [
    row,
    "if (scanned.damaged || (isWhole",
    "if ((scanned.damaged && scanned.header !== null) || (isWhole",
  ]),
  mutation("unreadable slot taken for a void shard", [
    row,
    "(isWhole && scanned.header === null)",
    "(isWhole && false)",
  ]),
  mutation("slot that reads late passed over", [
    row,
    "if (bytes !== null || folder.append) return bytes",
    "return bytes",
  ]),
  mutation("F5 reader believes a late header while a takeover is under way", [
    reader,
    "let below = unsettled ? certain : head.header.base",
    "let below = head.header.base",
  ]),
  mutation("flush acknowledged after a release", [
    journal,
    "if (this.#lost || this.#released) return Promise.reject(",
    "if (this.#lost) return Promise.reject(",
  ]),
  mutation("damage below a base silently dropped", [
    shard,
    "  if (limit !== undefined && valid !== limit) {",
    "  if (limit !== undefined && valid > limit) {",
  ]),
  mutation("a stale listing is believed", [row, "  while (await folder.exists(shardName(top + 1))) top++\n", ""]),
]
