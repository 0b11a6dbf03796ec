// Promises about ownership: who is dead, who may take a run, what a lease is for, whose files are whose, how many run.
import { mutation } from "./mutation.mjs"

const owner = "src/hosts/node/owner.ts"
const runtime = "src/run"
const paths = "src/journal/paths.ts"
const projection = "src/journal/projection.ts"

const owners = (name) => ["src/hosts/node/owner.test.ts", name]
const durable = (name) => ["src/run/durable.test.ts", name]
const permits = (name) => ["src/lib/semaphore.test.ts", name]
const store = (name) => ["src/stores/store-conformance.test.ts", name]

export const mutations = [
  mutation(
    "ownership: a run is resumed as it was read before another process took it",
    [
      [
        `${runtime}/open/open-run.ts`,
        "if (isExtended && history.length === before.length) return opening",
        "return opening",
      ],
    ],
    [
      "test/takeovers.test.ts",
      "memory: four processes that take one run from each other at any time leave a sound journal",
    ],
  ),
  mutation(
    "ownership: another boot on a shared store is dead",
    [[owner, "if (owner.boot !== self.boot) return isLocal", "if (owner.boot !== self.boot) return true"]],
    owners("a process of another boot is dead on a local store and unknown on a shared one"),
  ),
  mutation(
    "ownership: another boot on a local store may be alive",
    [[owner, "if (owner.boot !== self.boot) return isLocal", "if (owner.boot !== self.boot) return false"]],
    owners("a process of another boot is dead on a local store and unknown on a shared one"),
  ),
  mutation(
    "ownership: a pid of another pid namespace is looked for in this one",
    [[owner, "  if (owner.pidns !== self.pidns) return false\n", ""]],
    owners("a process of another pid namespace of this boot is unknown on every store"),
  ),
  mutation(
    "ownership: a pid that was given to another process is the same process",
    [[owner, "found.started !== owner.started || ", ""]],
    owners("a process of this boot whose pid is free, or has another start time, is dead on every store"),
  ),
  mutation(
    "ownership: a process that nobody reaped is alive",
    [[owner, "found.started !== owner.started || found.isDead", "found.started !== owner.started"]],
    owners("a zombie process is dead"),
  ),
  mutation(
    "ownership: a run of a live owner is taken without a takeover",
    [[runtime, 'if (owner === "alive" && !given.takeover) throw stillActive(key)', ""]],
    durable("a run with an unknown owner is run_active until a takeover is requested"),
  ),
  mutation(
    "ownership: an owner is unresponsive at the first look",
    [
      [
        "src/runs/owner-watch.ts",
        "this.#seen.set(path, { sign, since: now })\n    return false",
        "this.#seen.set(path, { sign, since: now })\n    return true",
      ],
    ],
    durable("a run with an unknown owner is run_active until a takeover is requested"),
  ),
  mutation(
    "ownership: no lease is waited for",
    [["src/runs/owner-watch.ts", "return now - seen.since >= leaseMs", "return true"]],
    durable("a `repeatable` call of an owner without a sign of life for a lease is flagged as unknown, not run again"),
  ),
  mutation(
    "ownership: a claim that cannot be read on a shared store is nobody's",
    [["src/journal/reader.ts", "if (claim === null) return isLocal", "if (claim === null) return true"]],
    durable("an unreadable headerless shard on a shared store proves nothing"),
  ),
  mutation(
    "ownership: every store is taken for a local one",
    [["src/journal/reader.ts", "const isLocal = folder.append !== undefined", "const isLocal = folder !== undefined"]],
    durable("an unreadable headerless shard on a shared store proves nothing"),
  ),
  mutation(
    "ownership: a take that was abandoned says that the owner before it is dead",
    [
      [
        "src/runs/owner-watch.ts",
        'return isReleased || this.#isDead(path, owner) ? "dead" : "unresponsive"',
        'return "dead"',
      ],
    ],
    durable("a headerless shard of a dead process over a run whose owner may be alive"),
  ),
  mutation(
    "ownership: a run is resumed although its owner ended it while it was taken over",
    [[runtime, '      if (history.status === "done") throw isDone(key)\n', ""]],
    durable("a run that its live owner ends while it is being taken over is done"),
  ),
  mutation(
    "ownership: a cancel in the inbox is not consumed, and cancels the resumed run again",
    [
      [
        projection,
        'if ("inbox" in record && record.inbox',
        'if (record.type !== "cancel" && "inbox" in record && record.inbox',
      ],
    ],
    durable('{"type":"cancel"} left for a dead owner is consumed by the first resume only'),
  ),
  mutation(
    "ownership: a cancel that waited for a lost owner is not put on record",
    [[runtime, 'else journal.append({ type: "cancel", inbox })', ""]],
    durable('{"type":"cancel"} left for a dead owner is consumed by the first resume only'),
  ),
  mutation(
    "ownership: a run that is under way can be removed",
    [
      ["src/runtime/runtime.ts", "if (live.find(asked)) throw stillActive(asked)", ""],
      [
        "src/runtime/manage-runs.ts",
        'if (key.agent === undefined && (await watch.look(key, found)) === "alive") throw stillActive(key)',
        "",
      ],
    ],
    durable("an active run is not removed"),
  ),
  mutation(
    "ownership: workspaces of one store share their runs",
    [
      [
        paths,
        'return `workspaces/${checkedId("workspaceId", workspaceId)}/.longhaul/projects',
        'return `workspaces/${workspaceId && "default"}/.longhaul/projects',
      ],
    ],
    ["test/promises/layout.test.ts", "workspaces of one store share nothing, and no id escapes its workspace"],
  ),
  mutation(
    "ownership: a run id may be a path",
    [["src/lib/id.ts", 'typeof id === "string" && isId(id)', 'typeof id === "string"']],
    ["test/promises/layout.test.ts", "workspaces of one store share nothing, and no id escapes its workspace"],
  ),
  mutation(
    "ownership: a concurrency slot is lost with a run that fails",
    [
      [
        "src/runtime/handle.ts",
        "    return await run()\n  } finally {\n    freeSlot()\n  }",
        '    const result = await run()\n    if (result.status === "done") freeSlot()\n    return result\n  } finally {\n  }',
      ],
    ],
    durable("a concurrency slot is released after a run that failed, could not start, or threw"),
  ),
  mutation(
    "ownership: a cancelled waiter stays in the queue, and takes a concurrency slot with it",
    [["src/lib/semaphore.ts", "        this.#waiting.splice(place, 1)\n", ""]],
    permits("an aborted waiter leaves the queue: the permit goes to the next waiter and is free at the end"),
  ),
  mutation(
    "ownership: a cancelled waiter gives back a concurrency slot that it never had",
    [
      [
        "src/lib/semaphore.ts",
        "else if (!(await this.#handedOver(signal))) return () => {}",
        "else await this.#handedOver(signal)",
      ],
    ],
    permits("an aborted waiter leaves the queue: the permit goes to the next waiter and is free at the end"),
  ),
  mutation(
    "ownership: a slot that is given back is counted free, although a waiter has it",
    [["src/lib/semaphore.ts", "      if (next) next()\n      else this.#free++", "      next?.()\n      this.#free++"]],
    permits("an abort after a waiter got its permit does not revoke it"),
  ),
  mutation(
    "ownership: a create on disk overwrites",
    [["src/hosts/node/store/fs-store.ts", "await disk.link(temporary, path)", "await disk.rename(temporary, path)"]],
    store("createOnlyStore passes the store conformance cases create is create-only and whole: 000000.jsonl"),
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
    store("fsStore passes the store conformance cases only the call that creates a file"),
  ),
  mutation(
    "ownership: a create in memory overwrites",
    [["src/stores/memory.ts", 'if (files.has(at(name))) return "exists"', ""]],
    store("memoryStore passes the store conformance cases create is create-only and whole: 000000.jsonl"),
  ),
  mutation(
    "ownership: a create in a bucket overwrites",
    [["src/stores/s3/objects.ts", 'const headers = { "if-none-match": "*" }', "const headers = {}"]],
    ["test/s3.test.ts", "create is create-only and whole: 000000.jsonl"],
  ),
  mutation(
    "ownership: a call of a process that took the run in between is begun again",
    [
      [
        "src/run/open/resume-run.ts",
        'const last = isExtended ? owner : "alive"',
        "const last = isExtended ? owner : owner",
      ],
    ],
    ["test/taken-in-between.test.ts", "the second does not begin it again"],
  ),
]
