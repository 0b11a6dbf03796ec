// Promises about ownership: who is dead, who may take a run, what a lease is for, whose files are whose, how many run.
import { mutation } from "./mutation.mjs"

const owner = "src/hosts/node/owner.ts"
const runtime = "src/runtime"
const paths = "src/journal/paths.ts"
const projection = "src/journal/projection.ts"

const gone = (name) => ["src/hosts/node/owner.test.ts", name]
const durable = (name) => ["src/runtime/durable.test.ts", name]
const permits = (name) => ["src/runtime/permits.test.ts", name]
const store = (name) => ["src/stores/store-conformance.test.ts", name]

export const mutations = [
  mutation(
    "ownership: another boot on a shared store is dead",
    [[owner, "if (owner.boot !== self.boot) return isLocal", "if (owner.boot !== self.boot) return true"]],
    gone("a process of another boot is gone on a local store and unknown on a shared one"),
  ),
  mutation(
    "ownership: another boot on a local store may be alive",
    [[owner, "if (owner.boot !== self.boot) return isLocal", "if (owner.boot !== self.boot) return false"]],
    gone("a process of another boot is gone on a local store and unknown on a shared one"),
  ),
  mutation(
    "ownership: a pid of another pid namespace is looked for in this one",
    [[owner, "  if (owner.pidns !== self.pidns) return false\n", ""]],
    gone("a process of another pid namespace of this boot is unknown on every store"),
  ),
  mutation(
    "ownership: a pid that was given to another process is the same process",
    [[owner, "found.started !== owner.started || ", ""]],
    gone("has another start time, is gone on every store"),
  ),
  mutation(
    "ownership: a process that nobody reaped is alive",
    [[owner, "found.started !== owner.started || found.isDead", "found.started !== owner.started"]],
    gone("a process that has ended and that its parent has not reaped is gone"),
  ),
  mutation(
    "ownership: a run of a live owner is taken without a takeover",
    [[runtime, 'if (owner === "alive" && !input.takeover) throw stillActive(key)', ""]],
    durable("is active until a takeover is asked for"),
  ),
  mutation(
    "ownership: an owner is unresponsive at the first look",
    [
      [
        runtime,
        "this.#seen.set(path, { sign, since: now })\n    return false",
        "this.#seen.set(path, { sign, since: now })\n    return true",
      ],
    ],
    durable("is active until a takeover is asked for"),
  ),
  mutation(
    "ownership: no lease is waited for",
    [[runtime, "return now - seen.since >= leaseMs", "return true"]],
    durable("a `repeatable` call whose owner gave no sign for a lease is flagged"),
  ),
  mutation(
    "ownership: a claim that cannot be read on a shared store is nobody's",
    [[runtime, "return claim === null ? this.#isLocal(path)", "return claim === null ? true"]],
    durable("unreadable on a store that machines share: nothing is concluded from it"),
  ),
  mutation(
    "ownership: every store is taken for a local one",
    [[runtime, "return this.#config.store.folder(path).append !== undefined", 'return path !== ""']],
    durable("unreadable on a store that machines share: nothing is concluded from it"),
  ),
  mutation(
    "ownership: a take that was abandoned says that the owner before it is dead",
    [[runtime, 'return isReleased || this.#isGone(path, owner) ? "gone" : "silent"', 'return "gone"']],
    durable("over a run whose owner may be alive, by a process that is gone: taken, and a repeatable call is flagged"),
  ),
  mutation(
    "ownership: a run is resumed although its owner ended it while it was taken over",
    [[runtime, '      if (history.status === "done") throw isDone(key)\n', ""]],
    durable("a run that its live owner ends while it is being taken over is done"),
  ),
  mutation(
    "ownership: a cancel in the inbox is not consumed, and cancels the resumed run again",
    [[projection, "if (record.inbox !== undefined) this.nextInbox = record.inbox + 1\n        break", "break"]],
    durable('{"type":"cancel"} that waited for a lost owner is consumed by the first resume'),
  ),
  mutation(
    "ownership: a cancel that waited for a lost owner is not put on record",
    [[runtime, 'else journal.append({ type: "cancel", inbox })', ""]],
    durable('{"type":"cancel"} that waited for a lost owner is consumed by the first resume'),
  ),
  mutation(
    "ownership: a run that is under way can be removed",
    [
      [runtime, "if (live.find(asked)) throw stillActive(asked)", ""],
      ["src/runtime/runs", 'if ((await watch.look(key, found)) === "alive") throw stillActive(key)', ""],
    ],
    durable("a run that is under way is not removed"),
  ),
  mutation(
    "ownership: workspaces of one store share their runs",
    [
      [
        paths,
        'return `workspaces/${checkedId("workspaceId", workspaceId)}/',
        'return `workspaces/${workspaceId && "default"}/',
      ],
    ],
    ["test/promises/layout.test.ts", "STO-04"],
  ),
  mutation(
    "ownership: a run id may be a path",
    [["src/lib/id.ts", 'typeof id === "string" && isId(id)', 'typeof id === "string"']],
    ["test/promises/layout.test.ts", "STO-04"],
  ),
  mutation(
    "ownership: a concurrency slot is lost with a run that fails",
    [
      [
        runtime,
        "    return await run()\n  } finally {\n    freeSlot()\n  }",
        '    const result = await run()\n    if (result.status === "done") freeSlot()\n    return result\n  } finally {\n  }',
      ],
    ],
    durable("a concurrency slot is free again after a run that failed, could not begin, or threw"),
  ),
  mutation(
    "ownership: a cancelled waiter stays in the queue, and takes a concurrency slot with it",
    [[runtime, "        this.#waiting.splice(place, 1)\n", ""]],
    permits("a waiter that is aborted leaves the queue"),
  ),
  mutation(
    "ownership: a cancelled waiter gives back a concurrency slot that it never had",
    [[runtime, "else if (!(await this.#handedOver(signal))) return () => {}", "else await this.#handedOver(signal)"]],
    permits("a waiter that is aborted leaves the queue"),
  ),
  mutation(
    "ownership: a slot that is given back is counted free, although a waiter has it",
    [[runtime, "      if (next) next()\n      else this.#free++", "      next?.()\n      this.#free++"]],
    permits("an abort after a waiter has its permit takes nothing from it"),
  ),
  mutation(
    "ownership: a create on disk overwrites",
    [["src/hosts/node/store/fs-store.ts", "await disk.link(temporary, path)", "await disk.rename(temporary, path)"]],
    store("createOnlyStore keeps every promise of a store create is create-only and whole: 000000.jsonl"),
  ),
  mutation(
    "ownership: a shard on disk is opened by two",
    [
      [
        "src/hosts/node/store/fs-store.ts",
        'if (errnoOf(error) === "EEXIST") return null',
        'if (errnoOf(error) === "EEXIST") return new Shard(path, openSync(path, constants.O_WRONLY | constants.O_DSYNC), first)',
      ],
    ],
    store("fsStore keeps every promise of a store a file is opened for appending once"),
  ),
  mutation(
    "ownership: a create in memory overwrites",
    [["src/stores/memory.ts", 'if (files.has(at(name))) return "exists"', ""]],
    store("memoryStore keeps every promise of a store create is create-only and whole: 000000.jsonl"),
  ),
  mutation(
    "ownership: a create in a bucket overwrites",
    [["src/stores/s3/objects.ts", 'const headers = { "if-none-match": "*" }', "const headers = {}"]],
    ["test/s3.test.ts", "create is create-only and whole: 000000.jsonl"],
  ),
]
