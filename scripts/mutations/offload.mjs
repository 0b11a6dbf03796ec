// Promises about long results: what is stored, that a preview and its file belong together, and who may read it.
import { mutation } from "./mutation.mjs"

const folder = "src/run/offload"
const whole = (name) => ["test/offload.test.ts", name]
const blobs = (name) => ["src/run/offload/blobs.test.ts", name]

export const mutations = [
  mutation(
    "offload: an output that the policy blocks is stored",
    [[folder, "if (passes && !(await passes(text))) return null", "await passes?.(text)"]],
    whole("an output that a rule blocks is never stored"),
    whole("an output that a service blocks is never stored"),
  ),
  mutation(
    "offload: a result of exactly the threshold is stored",
    [
      [
        folder,
        "return text.length > thresholdBytes || utf8Length(text) > thresholdBytes ? text : undefined",
        "return utf8Length(text) >= thresholdBytes ? text : undefined",
      ],
    ],
    whole("a result of exactly the threshold"),
  ),
  mutation(
    "offload: a repeated call keeps the file of the attempt before",
    [
      [
        folder,
        "while (!(await createOwn(folder, blobName(callId, attempt), bytes))) attempt++",
        "await createOwn(folder, blobName(callId, attempt), bytes)",
      ],
    ],
    whole("an attempt that finds a file of an earlier one"),
    whole("an early call of an answer that failed"),
    blobs("each attempt with another text"),
  ),
  mutation(
    "offload: the id of a call is the name of its file, whatever it is",
    [[folder, 'plainName.test(callId) && !callId.includes("..") ? callId', "callId ? callId"]],
    blobs('a result of a call whose id is "../../000000.jsonl"'),
  ),
  mutation(
    "offload: results are stored although the model cannot fetch them",
    [
      [
        folder,
        "this.#settings = isOffered ? offloadSettings(run.input.compaction) : undefined",
        "this.#settings = offloadSettings(run.input.compaction)",
      ],
    ],
    whole("if the run removes FetchData"),
  ),
  mutation(
    "offload: what FetchData returns is stored again",
    [[folder, "if (settings === undefined || call.name === fetchData.name)", "if (settings === undefined)"]],
    whole("what FetchData returns"),
  ),
  mutation(
    "offload: a fork refers to the files of the original",
    [
      [
        "src/runtime/manage-runs.ts",
        "await copyResults(config.store.folder(runPath(from)), config.store.folder(runPath(to)), copied)",
        "await copyResults(config.store.folder(runPath(from)), config.store.folder(runPath(from)), copied)",
      ],
    ],
    whole("a fork has its own copies"),
  ),
  mutation(
    "offload: references end with the process that has the setting",
    [["src/run/open/resume-run.ts", "(wasOffered(run, fetchData.name) || run.calls.hasOffloaded)", "false"]],
    whole("refs survive a resume by another runtime: only the run had the setting"),
    whole("a resume can turn offloading on, and off again"),
  ),
]
