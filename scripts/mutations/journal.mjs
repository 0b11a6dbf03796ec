// The holes and refuted shortcuts of the journal's protocol (docs: "the log is the lock"), as edits of our code. `find`
// must occur exactly once. Two have no place here: an inbox file that is opened and then written (a Folder can create a
// name only whole, the store cases hold it to that), and an owner that flags its own running call (flags are made by a
// take alone; a self-take calls nobody). F7 and F8 (unlink, truncate, rename): a Folder can neither truncate nor rename, and the
// journal never deletes.

import { mutation } from "./mutation.mjs"

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

const paths = 'import { shardName } from "./paths.ts"'
const look = "        if (await this.#folder.exists(shardName(this.#top + 1))) throw fenced()\n"
const write = "        await file.write(this.#headless ? bytes.subarray(this.#ownership.claim.length) : bytes)\n"
const stands = "        if (!(await file.stands())) throw this.#lose(vanished(this.#folder, this.#top))\n"
const syncBase = "    await this.#folder.append?.sync(shardName(shard))\n"
const syncFolder = "          await this.#folder.append?.syncFolder()\n"
const openNext = `    const file = await this.#folder.append?.open(shardName(this.#top + 1), this.#ownership.claim)
    if (!file) throw fenced()\n`
const sendNext = "    if (this.#flushed.isEmpty) [this.#flushed, this.#queued] = [this.#queued, this.#flushed]\n"
const sendAll = `    for (const record of this.#queued.take()) this.#flushed.add(record)
    if (this.#queued.isWanted) this.#flushed.durable.then(() => this.#queued.resolve(), () => {})\n`
const ownBytes = "      if (found !== null) return equalBytes(found, bytes)\n"
const readAfterCreate = [
  "    const { known } = options\n",
  "    const head = options.afresh ? null : await findHead(folder, top, known?.head)\n",
  "    const history = head ? await historyOf(folder, head, known) : []\n",
]
const isFinal = `  try {
    await folder.append.sync(shardName(head.shard))
  } catch {
    return false
  }
`

const holes = (name) => ["src/journal/holes.test.ts", name]
const claims = (name) => ["src/journal/claims.test.ts", name]
const shards = (name) => ["src/journal/shard.test.ts", name]
const records = (name) => ["src/journal/journal.test.ts", name]

function hole(name, test, ...edits) {
  return mutation(`journal: ${name}`, edits, test)
}

export const mutations = [
  hole("F1 no look after the append", holes("F1: a flush that a successor did not read is not acknowledged"), [
    appending,
    look,
    "",
  ]),
  hole("F1 look before the append", holes("F1: a flush that a successor did not read is not acknowledged"), [
    appending,
    write + look,
    look + write,
  ]),
  hole(
    "F1 no second look after a slow flush",
    holes("F1: an owner whose flush took half a lease looks again before it acts"),
    [journal, "    if (await this.#folder.exists(shardName(this.#writer.top + 1))) throw fenced()\n", ""],
  ),
  hole(
    "theorem: the predecessor is read before the create",
    holes("a successor reads after its create, so it sees every intent that its predecessor could act on"),
    [journal, readAfterCreate.join(""), ""],
    [
      journal,
      "  const append = folder.append\n",
      `${readAfterCreate.join("").replace(/^ {2}/gm, "")}  const append = folder.append\n`,
    ],
  ),
  hole(
    "F2 base is the top shard, headed or not",
    holes("F2: a header names the last shard with a header, so a void shard cannot hide a fenced owner's record"),
    [
      journal,
      "head && { shard: head.shard, bytes: head.scanned.validBytes }",
      "head && { shard: top, bytes: head.shard === top ? head.scanned.validBytes : 0 }",
    ],
  ),
  hole("F3 base not synced", holes("F3: bytes counted by a header survive a power loss"), [appending, syncBase, ""]),
  hole("F3 folder not synced", holes("F3: bytes counted by a header survive a power loss"), [
    appending,
    syncFolder,
    "",
  ]),
  hole(
    "F3 folder synced after the header",
    holes("F3: a header is never durable before the name of the shard it counts"),
    [appending, syncFolder, ""],
    [appending, write, `${write}    if (this.#headless) await this.#folder.append?.syncFolder()\n`],
  ),
  hole(
    "F3 base synced after the header",
    holes("F3: a header is never durable before the bytes it counts"),
    [appending, syncBase, ""],
    [
      appending,
      write,
      `${write}    if (this.#headless && this.#good) await this.#folder.append?.sync(shardName(this.#good.shard))\n`,
    ],
  ),
  hole(
    "F4 a base whose sync failed is synced again and trusted",
    holes("F4: a base whose sync failed once is not trusted after a second successful sync"),
    [appending, "    this.#lose(baseLost())\n", ""],
  ),
  hole(
    "F4 goes on in the same shard after a failed write",
    holes("F4: after a short write the owner never writes the shard again and moves to the next one"),
    [appending, "    for (;;) {\n", "    for (let isSecond = false; ; isSecond = true) {\n"],
    [
      appending,
      "        await this.close()\n        if (isLast || isFenced(error) || this.#lost) throw error\n",
      "        if (isLast || isSecond || isFenced(error)) throw error\n",
    ],
  ),
  hole(
    "F4 self-take counts the valid prefix",
    holes("F4: after a failed sync no unacknowledged record counts twice, and the owner's running call is not flagged"),
    [appending, paths, `${paths}\nimport { scanShard } from "./shard.ts"`],
    [
      appending,
      openNext,
      `${openNext}    const left = await this.#folder.read(shardName(this.#top))
    if (this.#good && left) this.#good = { shard: this.#top, bytes: scanShard(left).validBytes }\n`,
    ],
  ),
  hole(
    "F4 base moves before the flush is acknowledged",
    holes("F4: after a short write the owner never writes the shard again and moves to the next one"),
    [appending, write, `        this.#good = { shard: this.#top, bytes: from + bytes.length }\n${write}`],
  ),
  hole(
    "F4 self-take skips a shard that somebody else created",
    holes("F4: an owner whose next shard was created by another process is fenced"),
    [
      appending,
      openNext,
      `    let file = await this.#folder.append?.open(shardName(this.#top + 1), this.#ownership.claim)
    while (!file) file = await this.#folder.append?.open(shardName(++this.#top + 1), this.#ownership.claim)\n`,
    ],
  ),
  hole("F5 reader without a look", holes("F5: a reader publishes nothing that a concurrent takeover may cut"), [
    reader,
    "  for (let shard = head.shard + 1; await folder.exists(shardName(shard)); shard++) {\n",
    "  for (let shard = head.shard + 1; shard < 0; shard++) {\n",
  ]),
  hole(
    "F5 reader looks before it reads",
    holes("F5: a reader looks after reading, so a takeover in between is detected"),
    [
      reader,
      "      takeoverPending = !(await isFinal(folder, head, isVoid))\n",
      "      await isFinal(folder, head, isVoid)\n      takeoverPending = folder.append !== undefined && head.shard !== top\n",
    ],
  ),
  hole("F5 reader without a sync", holes("F5: a reader that cannot sync its read publishes none of it"), [
    reader,
    isFinal,
    "",
  ]),
  hole(
    "F5 reader shows what could not be synced",
    holes("F5: a reader that cannot sync its read publishes none of it"),
    [reader, "  } catch {\n    return false\n  }\n", "  } catch {\n    return true\n  }\n"],
  ),
  hole(
    "F5 records count at line ends, not flush ends",
    holes("F5: a reader publishes complete flushes only, each record once, across takeovers"),
    [
      shard,
      "    if (start + size >= bytes.length) return { lines, valid, flushBefore }\n",
      `    if (start + size >= bytes.length) {
      const whole = bytes.subarray(start, bytes.lastIndexOf(LF) + 1)
      if (whole.length === 0 || !addLines(lines, decoder.decode(whole.subarray(0, -2)))) return { lines, valid, flushBefore }
      return { lines, valid: start + whole.length, flushBefore: start }
    }\n`,
    ],
  ),
  hole(
    "F6 the top shard is adopted while it has no header",
    holes("F6, F7, F8: an empty shard is never adopted, removed or reopened; its slow creator is fenced"),
    [journal, paths, `${paths}\nimport { scanShard } from "./shard.ts"`],
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
  hole("a shard shows before its claim does", claims("the creator stops before its write"), [
    disk,
    "{ bytes: first.slice(), durableLength: 0, durableName: false }\n          files.set(name, file)\n",
    `{ bytes: new Uint8Array(), durableLength: 0, durableName: false }
          files.set(name, file)
          await step("write", name)
          file.bytes = first.slice()\n`,
  ]),
  hole("an unrecorded take is attributed to the previous owner", claims("the creator stops before its read"), [
    reader,
    "  return { claim: bytes && claimOf(bytes) }\n",
    `  const below = await folder.read(shardName(top - 1))
  return { claim: bytes && below && claimOf(below) }\n`,
  ]),
  hole(
    "an abandoned take hides which shard it leaves",
    claims("an owner that could not write its header learns which shard it left behind"),
    [journal, "    if (file) options.abandoned?.(owned?.shard ?? top + 1)\n", ""],
  ),
  hole(
    "a record is queued before its bytes exist",
    records("a record that is not valid JSON gets no number and leaves no trace"),
    [
      batch,
      "    const line = jsonOf(record)\n    this.lines.add(line)\n    this.#records.push(record)\n",
      "    this.#records.push(record)\n    this.lines.add(jsonOf(record))\n",
    ],
  ),
  hole(
    "a record that cannot be written takes a number",
    records("a record that is not valid JSON gets no number and leaves no trace"),
    [
      journal,
      "    this.#queued.add(record)\n    this.#nextSeq++\n",
      "    this.#nextSeq++\n    this.#queued.add(record)\n",
    ],
  ),
  hole(
    "a flush in a deleted shard is acknowledged",
    claims("after its shard is deleted, an owner acknowledges nothing more and continues nothing"),
    [appending, stands, ""],
  ),
  hole(
    "an owner builds on a shard that was deleted",
    claims("after its shard is deleted, an owner acknowledges nothing more and continues nothing"),
    [
      appending,
      stands,
      stands.replace("this.#lose(vanished(this.#folder, this.#top))", "vanished(this.#folder, this.#top)"),
    ],
  ),
  hole(
    "a deleted shard is looked for before the next one",
    claims("deletion of the shard by the process that took the run fences the old owner"),
    [appending, look + stands, stands + look],
  ),
  hole("O1 M1 own write not recognised", holes("O1: an owner recognises its own write after a lost response"), [
    own,
    ownBytes,
    "      if (found !== null) return false\n",
  ]),
  hole(
    "O1 unreadable slot concluded to be foreign",
    holes("O1: an existing slot that is not yet readable is read again before a conclusion"),
    [own, ownBytes, "      return found !== null && equalBytes(found, bytes)\n"],
  ),
  hole(
    "O2 own recognised by its writer only",
    holes("O2: records after an ambiguous write go into the next slot, never into the same one"),
    [
      own,
      ownBytes,
      `      const writer = (given: Uint8Array) => JSON.parse(new TextDecoder().decode(given).split("\\n")[0] as string).writer
      if (found !== null) return writer(found) === writer(bytes)\n`,
    ],
    [journal, sendNext, sendAll],
  ),
  hole(
    "O2 other bytes after an ambiguous answer",
    holes("O2: records after an ambiguous write go into the next slot, never into the same one"),
    [journal, sendNext, sendAll],
  ),
  hole("O3 no nonce", holes("O3: two resumers that write the same content are distinguished by their nonce"), [
    ownership,
    "#writer = newNonce()",
    '#writer = "owner"',
  ]),
  hole(
    "O4 foreign slot, so the next one",
    holes("O4: a foreign slot fences permanently; the old owner writes nothing after it"),
    [
      creating,
      "    if (!(await createOwn(this.#folder, shardName(slot), bytes))) throw fenced()\n",
      `    if (!(await createOwn(this.#folder, shardName(slot), bytes))) {
      this.#top = slot
      return this.write(lines)
    }\n`,
    ],
  ),
  hole(
    "O5 creates are pipelined",
    holes("O5: only one create is in flight; waiting records are batched into the next"),
    [journal, "    if (this.#flushing) return\n", ""],
  ),
  hole("O8 a conflict is not tried again", holes("O8: a conflict without an outcome is retried with the same bytes"), [
    own,
    "      if (attempt >= CREATE_RETRIES || !mayPass(error)) throw error\n",
    "      throw error\n",
  ]),
  hole("end mark without a checksum", shards("a shard with any altered byte in an earlier flush is damaged"), [
    shard,
    "mark.from === begin + from && mark.crc === crcOf(bytes, from, mark.at)",
    "mark.from === begin + from",
  ]),
  hole("end mark whose from is not checked", holes("a flush that is stored twice counts once"), [
    shard,
    "mark.from === begin + from && mark.crc === crcOf(bytes, from, mark.at)",
    "mark.crc === crcOf(bytes, from, mark.at)",
  ]),
  hole(
    "damaged tail silently dropped",
    holes("a damaged flush before a complete one is a typed error for owners and readers"),
    [row, "if (scanned.damaged || (isWhole", "if ((isWhole"],
  ),
  hole(
    "damaged first flush taken for a void shard",
    holes("a shard with a damaged first flush before complete ones is damaged, not void"),
    [row, "if (scanned.damaged || (isWhole", "if ((scanned.damaged && scanned.header !== null) || (isWhole"],
  ),
  hole(
    "unreadable slot taken for a void shard",
    holes("on create-only stores an unreadable slot is damaged, not void"),
    [row, "(isWhole && scanned.header === null)", "(isWhole && false)"],
  ),
  hole(
    "slot that reads late passed over",
    holes("an existing slot that reads as absent is read again, never skipped"),
    [row, "if (bytes !== null || folder.append) return bytes", "return bytes"],
  ),
  hole(
    "F5 reader believes a late header while a takeover is under way",
    holes("F5: a reader publishes nothing that a concurrent takeover may cut"),
    [reader, "let below = takeoverPending ? certain : head.header.base", "let below = head.header.base"],
  ),
  hole(
    "flush acknowledged after a release",
    holes("after a release nothing is written or acknowledged, whichever caller asks"),
    [journal, "if (this.#lost || this.#released) return Promise.reject(", "if (this.#lost) return Promise.reject("],
  ),
  hole(
    "damage below a base silently dropped",
    shards("a base that counts more bytes than are readable is a typed error"),
    [shard, "  if (limit !== undefined && valid !== limit) {", "  if (limit !== undefined && valid > limit) {"],
  ),
  hole("a stale listing is believed", holes("a stale listing hides nothing from a successor (create-only: false)"), [
    row,
    "  while (await folder.exists(shardName(top + 1))) top++\n",
    "",
  ]),
]
