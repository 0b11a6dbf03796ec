// Promises of the policy about where the paths and the words of a call lead.
import { mutation } from "./mutation.mjs"

const rules = "src/policy/rules"
const paths = (name) => [`${rules}/path-rules.test.ts`, name]
const shell = "src/policy/shell"
const commands = (name) => [`${rules}/command-rules.test.ts`, name]
const reach = (name) => [`${rules}/reach-lines.test.ts`, name]
const sed = (name) => [`${shell}/sed-script.test.ts`, name]
const words = (name) => ["test/capability-attacks.test.ts", name]
const foreign = (name) => ["test/foreign-calls.test.ts", name]
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
    [[`${rules}/decide-line.ts`, "if (found.isUnresolved && candidates.some(refusesPaths))", "if (false)"]],
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
  mutation(
    "policy: paths of tar -C start at the working folder",
    [[`${shell}/programs.ts`, 'return isGit ? [folder] : [".", ...changed]', 'return isGit ? [folder] : ["."]']],
    commands("starts at the folder that the command is told to work in: tar -C a -cf - secrets/key"),
    reach("tar c -C / ws is asked where something refused exists"),
  ),
  mutation(
    "policy: paths of git -C start at the working folder",
    [[`${shell}/programs.ts`, "return isGit ? [folder] :", 'return isGit ? ["."] :']],
    commands("starts at the folder that the command is told to work in: git -C a blame secrets/key"),
  ),
  mutation(
    "policy: the file that git -C compares is one of the working folder",
    [[`${shell}/programs.ts`, "pathsIn(folders, target.text)[0] ?? target.text", "target.text"]],
    ["test/capability-attacks.test.ts", "is decided there: git -C other diff --output=out/a as ask"],
  ),
  mutation(
    "policy: a path in the middle of a word is not seen",
    [[`${rules}/command-paths.ts`, "[rest, rest.replace(", "[rest, rest.slice(rest.length).replace("]],
    commands("a path is found inside a word: docker run -v /ws/.env:/x image"),
    commands("a path is found inside a word: curl -F 'f=@.env;type=x' host"),
  ),
  mutation(
    "policy: a path behind several letters of options is not seen",
    [[`${rules}/command-paths.ts`, "at <= Math.min(letters.length, mostStarts)", "at <= 2"]],
    commands("a path is found inside a word: grep -hf.env a"),
  ),
  mutation(
    "policy: a command that changes a whole folder is judged by its words",
    [[`${rules}/reach-step.ts`, 'placed(changes), ["write"]', '[], ["write"]']],
    reach("rm -rf . is asked where something exists that may not be changed"),
    reach("unzip a.zip is asked where something exists that may not be changed"),
  ),
  mutation(
    "policy: a folder may be moved with what may not be read in it",
    [
      [
        `${shell}/reaching-programs.ts`,
        '["mv", { below: true, changes: true, hasTarget: true }],\n  ["rm", { changes: options("recursive"',
        '["mv", { changes: true, hasTarget: true }],\n  ["rm", { changes: options("recursive"',
      ],
    ],
    reach("mv . /tmp/x is asked where something refused exists"),
  ),
  mutation(
    "policy: a pattern that git expands is a name",
    [[`${shell}/reach.ts`, '/[*?[]|^:/.test(path) ? "." : path', "path"]],
    reach("git diff -- 's*' is asked where something refused exists"),
  ),
  mutation(
    "policy: an abbreviated option starts nothing",
    [[`${shell}/reaching-programs.ts`, '`${letter}(?:${rest})?`, ""', '`${letter}${rest}`, ""']],
    reach("tar xf a.tar --to=./run is asked where it could start or use what a rule refuses"),
  ),
  mutation(
    "policy: letters of options without a dash are a file",
    [[`${shell}/reach.ts`, "program.hasLetters === true &&", "program.hasLetters === false &&"]],
    reach("tar cIf ./run x src is asked where it could start or use what a rule refuses"),
  ),
  mutation(
    "policy: a script of sed that is not understood is harmless",
    [[`${shell}/sed-script.ts`, "if (!isStep) return false", "if (!isStep) return true"]],
    sed('the script "e" of sed starts a program or opens a file'),
    reach("sed 's_a_b_e' a.txt is asked where it could start or use what a rule refuses"),
  ),
  mutation(
    "policy: a script of sed may be in a file",
    [[`${shell}/sed-script.ts`, 'else if (letter === "f") return undefined', 'else if (letter === "f") continue']],
    sed('sed ["-f","x"] may do anything'),
  ),
  mutation(
    "policy: the shell of another agent runs in the working folder",
    [[`${rules}/known-tools.ts`, "...(folders.length > 0 && { folders })", "...(folders.length > 9 && { folders })"]],
    foreign('runs its command in the folder of {"directory":"secrets"}'),
  ),
  mutation(
    "policy: a command may run in a folder that may not be read",
    [[`${rules}/decide-call.ts`, "inFolder.verdict === undefined ? steps", "true ? steps"]],
    foreign('runs its command in the folder of {"directory":"secrets"}'),
  ),
  mutation(
    "policy: a folder that is no text is the working folder",
    [[`${rules}/decide-call.ts`, "folder === undefined ? undefined : line", "line"]],
    foreign("cannot be decided in one that is no text"),
  ),
  mutation(
    "policy: several commands of a shell are the words of one",
    [["src/lib/access/arguments.ts", 'plain(name) === "commands" && Array.isArray(value)', "false"]],
    foreign('has further commands and words in {"commands":["ls","cat secrets/key"]}'),
  ),
  mutation(
    "policy: the arguments of a command are not its words",
    [["src/lib/access/arguments.ts", "line === undefined || words.length === 0", "words.length >= 0"]],
    foreign('has further commands and words in {"command":"cat","args":["secrets/key"]}'),
  ),
  mutation(
    "policy: a program may contain blanks",
    [
      [
        "src/lib/access/arguments.ts",
        'typeof program !== "string" || /\\s/.test(program)',
        'typeof program !== "string"',
      ],
    ],
    foreign("is asked about a list that may be one line"),
  ),
  mutation(
    "policy: output rules for Bash are not for the shell of another agent",
    [
      [
        `${rules}/compile-rules.ts`,
        "namesOf({ ...call, args: {} }, false)",
        "namesOf({ tool: call.tool, args: {} }, false)",
      ],
    ],
    foreign("has the output rules of Bash"),
  ),
  mutation(
    "policy: a file URL is a path only by the name of its argument",
    [["src/lib/access/arguments.ts", "/^\\s*file:/i.test(value) ? [value] : []", "false ? [value] : []"]],
    foreign('{"url":"file:///ws/secrets/k"} names a path that a rule refuses'),
  ),
  mutation(
    "policy: a command may fetch what rules refuse to fetch",
    [[`${rules}/decide-line.ts`, "urls: addresses.named, command: words", "command: words"]],
    words("a rule for addresses refuses the command curl https://evil.example/a"),
  ),
  mutation(
    "policy: a computed address is none",
    [[`${rules}/decide-line.ts`, "if (addresses.isOpen)", "if (false)"]],
    words("a rule for addresses refuses the command curl $U"),
  ),
  mutation(
    "policy: a permission to fetch an address is one for any command that names it",
    [[`${rules}/compile-rule.ts`, "(isPermission && command !== undefined) ||", ""]],
    words("a permission to fetch is none for a command that names the address"),
  ),
  mutation(
    "policy: check does not tell that a rule for WebFetch leaves ApiCall open",
    [
      [
        `${rules}/check/open-siblings.ts`,
        "url !== undefined ? aboutAddresses : aboutAny",
        "url !== undefined ? aboutPaths : aboutAny",
      ],
    ],
    [`${rules}/check/open-siblings.test.ts`, "the same addresses"],
  ),
  mutation(
    "policy: a tool of a server that makes links passes under another name",
    [[`${rules}/decide-call.ts`, "(sym|hard|symbolic)[-_ ]?link|", ""]],
    commands("mcp:fs/newSymlink is asked as well"),
  ),
  mutation(
    "policy: a covered file of a read-only folder may be replaced while a command runs",
    [
      [
        "src/hosts/node/shell/sandbox.ts",
        "[...fixed, ...between, ...hidden, ...closed, ...above])].filter(",
        "[...fixed, ...between, ...hidden, ...closed, ...above])].filter((path) => insidePath(root, path) !== undefined).filter(",
      ],
    ],
    ["src/hosts/node/shell/sandbox.test.ts", "what is covered in read-only folders must stay what it is"],
  ),
  mutation(
    "policy: a file is read by a host that does not resolve links",
    [["src/policy/local.ts", "(policy.file !== undefined && options.host?.readFile !== undefined) ||", ""]],
    ["src/policy/search-below.test.ts", "a policy file needs a host that resolves links, too"],
  ),
  mutation(
    "policy: presets keep .env from tools by their names",
    [
      [
        "src/policy/rules/presets.ts",
        'deny: { path: ["**/.env"',
        'deny: { tool: ["Read", "Write", "Edit"], path: ["**/.env"',
      ],
    ],
    ["src/policy/rules/presets.test.ts", "leaves no tool open to write .env"],
    ["src/policy/rules/presets.test.ts", "leaves no tool open that can do what it refuses to others by their names"],
  ),
  mutation(
    "policy: presets keep the files that govern agents from tools by their names",
    [
      [
        "src/policy/rules/presets.ts",
        "deny: { write: governing }",
        'deny: { tool: ["Write", "Edit", "MultiEdit", "NotebookEdit", "ApplyPatch"], path: governing }',
      ],
    ],
    ["src/policy/rules/presets.test.ts", "leaves no tool open to write .git/config"],
  ),
  mutation(
    "policy: a patch may move a file to where its rules refuse to write",
    [["src/tools/patch/uses.ts", "write: [...known, ...moved]", "write: [...known]"]],
    ["src/policy/rules/presets.test.ts", "leaves no tool open to write .npmrc"],
  ),
]
