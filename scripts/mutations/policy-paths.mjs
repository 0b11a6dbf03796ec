// Promises of the policy about where the paths and the words of a call lead.
import { mutation } from "./mutation.mjs"

const rules = "src/policy/rules"
const paths = (name) => [`${rules}/path-rules.test.ts`, name]
const resolving = (name) => ["src/hosts/node/policy/resolve-path.test.ts", name]

export const mutations = [
  mutation(
    "policy: a path out of a link is where its text says",
    [[`${rules}/find-paths.ts`, "readingsOf(stepped.flat(), bases)", "[]"]],
    paths("link/../key is where the kernel finds it"),
    paths("/dev/fd/../cwd/secrets/key is where the kernel finds it"),
    resolving("a path out of a link is where the kernel finds it"),
  ),
  mutation(
    "policy: steps out of links are followed without a limit",
    [[`${rules}/find-paths.ts`, "const mostSteps = 40", "const mostSteps = 4000"]],
    paths("with more steps than can be followed is asked"),
  ),
  mutation(
    "policy: a path below an open folder is one below /dev",
    [
      [
        `${rules}/find-paths.ts`,
        "[...readings, ...real].some(isBelowDescriptor) ? unknownPath : spell",
        "readings.length === 0 ? unknownPath : spell",
      ],
    ],
    paths("/dev/fd/3/secrets/key can be any path"),
  ),
  mutation(
    "policy: a link to the folder of a process leads where this process is",
    [["src/hosts/node/policy/resolve-path.ts", "found !== path && (await isOfProcess(path))", "found === undefined"]],
    resolving("a link of the workspace to /proc/self/cwd is asked"),
    resolving("a link of the workspace to /dev/fd/0 is asked"),
  ),
  mutation(
    "policy: a word that cannot be resolved is no path",
    [[`${rules}/decide-line.ts`, "if (found.isUnresolved && refusing.some(refusesPaths))", "if (false)"]],
    paths("is asked as a word of a command, whatever the tier"),
    resolving("a broken link is asked wherever it stands in a line"),
  ),
  mutation(
    "policy: the tier passes a redirect that cannot be resolved",
    [
      [
        `${rules}/decide-line.ts`,
        'found.isUnresolved ? asked(step, "The',
        'found.isUnresolved ? atLeastAsk(step, "The',
      ],
    ],
    paths("is asked as a redirect without a command, whatever the tier"),
  ),
  mutation(
    "policy: the tier passes an argument that cannot be resolved",
    [
      [
        `${rules}/decide-call.ts`,
        "refusesUse(rule, can)) ? askWhereRefused : atLeastAsk",
        "false) ? askWhereRefused : atLeastAsk",
      ],
    ],
    paths("is asked as an argument, whatever the tier"),
  ),
]
