// Promises about runs that several processes look at: one that is damaged, taken, lost or stopped is shown as what it is.
import { mutation } from "./mutation.mjs"

const damaged = (name) => ["test/damaged-runs.test.ts", name]
const taken = (name) => ["test/later-taker.test.ts", name]
const owed = (name) => ["test/webhook-takers.test.ts", name]
const lost = (name) => ["test/lost-store.test.ts", name]
const live = (name) => ["src/run/calls/live-question.test.ts", name]

const release = (name) => ["src/run/release.test.ts", name]

export const mutations = [
  mutation(
    "runs: an unreadable run stops the list of all",
    [["src/runs/list-runs.ts", "if (!isDamage(error)) throw error", "throw error"]],
    damaged("a flipped bit in the first shard stops neither listing nor recovery of the others"),
  ),
  mutation(
    "runs: an unreadable run stops the recovery of all",
    [["src/runtime/background.ts", "readNode(config, node).catch(ifDamaged)", "readNode(config, node)"]],
    damaged("a flipped bit in the first shard stops neither listing nor recovery of the others"),
  ),
  mutation(
    "runs: a file among the runs is an error",
    [["src/hosts/node/store/fs-store.ts", 'if (errnoOf(error) === "ENOTDIR") return undefined\n', ""]],
    damaged("a file named README among the runs stops neither listing nor recovery of the others"),
  ),
  mutation(
    "runs: the shard of a dead process hides the end of a run",
    [["src/runs/read-runs.ts", "|| isVoidClaim(folder, taking, isDead)) return true", ") return true"]],
    taken("one process: every view shows its end"),
  ),
  mutation(
    "runs: records that a live process may still discard are published",
    [["src/journal/reader.ts", "if (!(await isVoid(shard, { claim: claimOf(bytes) }))) return false", ""]],
    taken("a taker that is alive may still discard the newest records"),
  ),
  mutation(
    "runs: a process that decides not to continue leaves a shard without a header",
    [["src/journal/journal.ts", "if (file && head) owned.append(takeAbandoned)", ""]],
    ["src/run/durable.test.ts", "a run that its live owner ends while it is being taken over is done"],
  ),
  mutation(
    "runs: a run that lost its store looks alive in its process",
    [["src/runtime/runtime.ts", "live.lostResult(asked, state) ?? state", "state"]],
    lost("is failed with `storage` here"),
  ),
  mutation(
    "runs: a run that lost its store looks alive to others",
    [["src/runtime/live-runs.ts", "void reportLoss(run.folder, projection, journal.shard)", ""]],
    lost("is failed with `storage` here"),
  ),
  mutation(
    "approvals: stopping a run denies the call that waits for onAsk",
    [["src/policy/ask-person.ts", "leaveOpen(pause)", "leaveOpen(failed)"]],
    live("a run that is stopped by close records nobody as having decided"),
  ),
  mutation(
    "approvals: a callback that hears of the stop decides",
    [["src/policy/ask-person.ts", "leaveOpen(pause)\n    closing.abort()", "closing.abort()\n    leaveOpen(pause)"]],
    live("a run that is stopped by cancel records nobody as having decided"),
  ),
  mutation(
    "approvals: releasing a run waits for onAsk",
    [
      [
        "src/run/calls/ask.ts",
        "askPerson(policy, request, controls.halting)",
        "askPerson(policy, request, controls.signal)",
      ],
    ],
    live("a run that is stopped by release records nobody as having decided"),
  ),
  mutation(
    "runs: recovery leaves released runs paused",
    [["src/runs/list-runs.ts", '|| kept.pause === "released"', ""]],
    release("recovery resumes released runs"),
  ),
  mutation(
    "runs: recovery takes slices from their scheduler",
    [["src/journal/projection.ts", 'reason === "released" && slice !== true', 'reason === "released"']],
    release("recovery resumes released runs"),
  ),
  mutation(
    "runs: a run that was taken again counts as released",
    [["src/runs/survey.ts", "this.#released.shards > this.taken ?", "this.#released.shards > -1 ?"]],
    ["src/runs/survey.test.ts", "a run that was taken again after its release"],
  ),
  mutation(
    "runs: of two entries of one release, the one without deliveries counts",
    [["src/runs/survey.ts", "  return entry.owes\n", "  return !entry.owes\n"]],
    ["src/runs/survey.test.ts", "of two entries of one release"],
  ),
  mutation(
    "runs: a run whose take cannot be marked is taken",
    [
      [
        "src/run/open/open-run.ts",
        "await markTake(config, key, opening.found)",
        "await markTake(config, key, opening.found).catch(() => {})",
      ],
    ],
    ["src/runs/survey.test.ts", "a run whose take cannot be marked"],
  ),
  mutation(
    "runs: a deleted file has not changed when a run moves",
    [
      [
        "src/run/session/handover.ts",
        "return now === before ? [] : [path]",
        "return now === before || now === null ? [] : [path]",
      ],
    ],
    ["test/backend-runtime.test.ts", "pauses if a file that it used was deleted"],
  ),
  mutation(
    "runs: followers get deltas of what they have read whole",
    [["src/runtime/follow-runs.ts", "history.at(-1)?.seq ?? -1", "history.at(0)?.seq ?? -1"]],
    ["src/runtime/follow-runs.test.ts", "followers get no delta of a text that they have read whole"],
  ),
  mutation(
    "runs: two processes have both cancelled a run",
    [["src/runtime/manage-runs.ts", "if (isFenced(error)) return false", "if (isFenced(error)) return true"]],
    ["src/runtime/live-runs.test.ts", "of two processes that cancel a paused run at once"],
  ),
  mutation(
    "runs: a background run that could not start has no id",
    [
      [
        "src/runtime/live-runs.ts",
        "return { runId, nodeId, status, ...(error && { error }) }",
        "return { nodeId, status, ...(error && { error }) }",
      ],
    ],
    ["src/runtime/live-runs.test.ts", "a background run that cannot start"],
  ),
  mutation(
    "runs: the room of released runs is never given back",
    [["src/run/open/released-runs.ts", "this.#records -= row?.records.length ?? 0", ""]],
    ["src/run/open/released-runs.test.ts", "runs that were taken again, or are released again"],
  ),
  mutation(
    "runs: a run that waits for its model is idle",
    [["src/journal/projection.ts", 'this.#asking ? "streaming" : "idle"', '"idle"']],
    ["src/journal/context-fold.test.ts", "a run is streaming between the request"],
  ),
  mutation(
    "runs: a part of the bytes of a write is all of them",
    [["src/hosts/node/store/disk.ts", "else if (written !== bytes.length)", "else if (false)"]],
    ["src/hosts/node/store/disk.test.ts", "a write of only a part of the bytes"],
  ),
  mutation(
    "runs: a store appends on any file system",
    [
      [
        "src/hosts/node/store/fs-store.ts",
        "return diskStore(root, false)\n}\n\n/** Runs on any POSIX",
        "return diskStore(root, true)\n}\n\n/** Runs on any POSIX",
      ],
    ],
    ["src/hosts/node/store/disk.test.ts", "appends only where a new name is seen at once"],
  ),
  mutation(
    "runs: an attempt from before a manual retry counts for it",
    [["src/webhooks/outbox.ts", "else if (entry.round < standing.round) continue\n", ""]],
    ["src/webhooks/outbox.test.ts", "an attempt that was made before a manual retry"],
  ),
  mutation(
    "runs: the body of a webhook's response holds its connection",
    [["src/webhooks/post.ts", "await response.body?.cancel()\n", ""]],
    ["src/webhooks/settings.test.ts", "the body of a response is given back unread"],
  ),
  mutation(
    "runs: the shard of a live taker that lost its store hides the end of a run",
    [
      [
        "src/runs/read-runs.ts",
        'isDead)) return true\n    return (await readBeat(folder, shard)) === "lost"',
        "isDead)) return true\n    return false",
      ],
    ],
    taken("a taker that is alive and has lost its store takes nothing"),
  ),
  mutation(
    "runs: a process that delivers webhooks does not wait for a taker",
    [
      [
        "src/runtime/webhooks/sender.ts",
        "const isHidden = found?.takeoverPending",
        "const isHidden = found === undefined",
      ],
    ],
    owed("although a live process begins to take the run just before it is sent"),
  ),
  mutation(
    "runs: a process that delivers webhooks waits for a taker that is dead",
    [
      [
        "src/runtime/webhooks/sender.ts",
        "      const found = await loadRun(this.#config, key)\n      const isHidden = found?.takeoverPending",
        "      const found = await inspectRun(this.#config, key)\n      const isHidden = found?.takeoverPending",
      ],
    ],
    owed("delivers the end once, although 1 takers died on top of it"),
  ),
  mutation(
    "runs: the body of a webhook does not say whose run it is",
    [
      [
        "src/runtime/webhooks/sender.ts",
        "resultOf(reported, { ...key, path: found.path",
        'resultOf(reported, { ...key, workspaceId: "default", path: found.path',
      ],
    ],
    owed("the body of a webhook names the tenant and has the metadata"),
  ),
  mutation(
    "runs: the body of a webhook has no metadata",
    [
      [
        "src/runtime/webhooks/sender.ts",
        "JSON.stringify(resultOf(reported, { ...key, path: found.path, lastShard: found.top }))",
        "JSON.stringify({ ...resultOf(reported, { ...key, path: found.path, lastShard: found.top }), metadata: undefined })",
      ],
    ],
    owed("the body of a webhook names the tenant and has the metadata"),
  ),
]
