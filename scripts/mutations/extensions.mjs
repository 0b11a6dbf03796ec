// Promises about web services, skills, memory and knowledge: where a call may go, who gets a secret, and what a model can leave behind.
import { mutation } from "./mutation.mjs"

const api = "src/extensions/api"
const skills = "src/extensions/skills"
const memory = "src/extensions/memory"
const knowledge = "src/extensions/knowledge"
const service = (name) => ["test/api.test.ts", name]
const attack = (name) => ["test/api-attacks.test.ts", name]
const skill = (name) => ["src/extensions/skills/skills.test.ts", name]
const remember = (name) => ["src/extensions/memory/memory.test.ts", name]
const item = (name) => ["src/extensions/memory/items.test.ts", name]
const place = (name) => ["src/extensions/knowledge/attacks.test.ts", name]
const knowing = (name) => ["test/knowledge.test.ts", name]
const kept = (name) => ["test/api-secrets.test.ts", name]
const external = (name) => ["src/extensions/knowledge/external.test.ts", name]

export const mutations = [
  mutation(
    "api: a path with .. is sent",
    [[api, 'if (/^\\.{1,2}$/.test(name.trim())) throw unsafe("contains . or .. as a segment")\n', ""]],
    attack("which some servers read as another one"),
  ),
  mutation(
    "api: a path that is encoded twice is sent",
    [[api, 'if (/%[\\da-f]{2}/i.test(read)) throw unsafe("is encoded twice")\n', ""]],
    attack("which some servers read as another one"),
  ),
  mutation(
    "api: an allowed path needs to match only a part",
    [[api, "new RegExp(`^(?:${pattern.source})$`,", "new RegExp(pattern.source,"]],
    attack("a path outside allowedPaths"),
  ),
  mutation(
    "api: a method that the service does not allow is sent",
    [[api, "  if (!service.allowedMethods.includes(method)) {", "  if (!service.allowedMethods.length) {"]],
    attack("is not sent, although another service allows it"),
  ),
  mutation(
    "api: a body may ask for another method",
    [
      [
        api,
        'if (name !== undefined) throw new ToolError("denied", `The body may not contain',
        'if (name === "") throw new ToolError("denied", `The body may not contain',
      ],
    ],
    attack("a method that the service does not allow"),
  ),
  mutation(
    "api: the model chooses the authorization header",
    [[api, '    "authorization",\n', ""]],
    attack("a header of the model"),
  ),
  mutation(
    "api: the model replaces a header of the service",
    [[api, "if (own.has(compared) || reserved.test(compared)) {", "if (reserved.test(compared)) {"]],
    attack("a header of the model"),
  ),
  mutation(
    "api: redirects are followed",
    [[api, 'redirect: "manual"', 'redirect: "follow"']],
    attack("a redirect (sent by"),
  ),
  mutation(
    "api: a public name may resolve to a private address",
    [
      [
        api,
        "allowPrivate: service.allowPrivate ?? isPrivateHost(base)",
        "allowPrivate: service.allowPrivate ?? isPrivateHost(base) !== undefined",
      ],
    ],
    attack("a service whose public name resolves to a private address"),
  ),
  mutation(
    "api: a body of any size is sent",
    [[api, "if (size > service.maxBodyBytes) {", "if (size < 0) {"]],
    service("a body over the limit is not sent"),
  ),
  mutation(
    "api: a raw body that is not a text is sent as JSON",
    [
      [
        api,
        '  if (typeof body !== "string") {\n    throw new ToolError("invalid_input", `${name} takes its body as a text: pass it as a string.`)\n  }\n',
        '  if (typeof body !== "string") return { text: JSON.stringify(body), contentType: name }\n',
      ],
    ],
    service("is rejected without a request"),
  ),
  mutation(
    "api: a secret is looked up before the call is checked",
    [
      [
        api,
        "  const target = targetOf(service, given.path, given.query)\n  const { sent",
        "  await credentials.headers(service, { method, path: given.path }, (name) => host.variable?.(name))\n  const target = targetOf(service, given.path, given.query)\n  const { sent",
      ],
    ],
    service("is rejected without a request"),
  ),
  mutation(
    "api: each attempt at a call has a key of its own",
    [
      [
        api,
        "[service.idempotencyHeader]: context.idempotencyKey",
        "[service.idempotencyHeader]: `${context.idempotencyKey}${performance.now()}`",
      ],
    ],
    ["test/api-crash.test.ts", "SIGKILL when a"],
  ),
  mutation(
    "api: a POST whose response was lost has failed",
    [[api, 'if (effect === "none" || neverSent.test(code))', "if (effect || neverSent.test(code))"]],
    service("a connection that is cut before the response leaves the outcome of a POST unknown"),
  ),
  mutation(
    "api: a response that is cut within a secret of its own shows the start of it",
    [
      [
        api,
        "isCut ? redact(masks.cut(withoutHalfWord(text))) : masks.text(text)",
        "isCut ? redact(masks.text(withoutHalfWord(text))) : masks.text(text)",
      ],
    ],
    kept("that a function returns (plain) shows no part of it, wherever the cut is"),
    kept("that resolveAuth returns (url) shows no part of it, wherever the cut is"),
  ),
  mutation(
    "api: a long failure is cut before it is masked",
    [
      [
        api,
        "startOf(beforeCut(body, MAX_FAILURE_LENGTH, redact), MAX_FAILURE_LENGTH)",
        "startOf(redact === undefined ? beforeCut(body, 0, redact) : body, MAX_FAILURE_LENGTH)",
      ],
    ],
    kept("and the start of a long failure show no part of a declared secret"),
  ),
  mutation(
    "api: every method may be repeated",
    [[api, '? "repeatable" : "once"', '? "repeatable" : "repeatable"']],
    service("the effect of a call"),
  ),
  mutation(
    "skills: hosts are checked only when a skill is read",
    [[skills, "if (isAllowed && !isAllowed(url)) {", "if (isAllowed === undefined && !url) {"]],
    skill("skills outside allowedHosts throw, and make 0 connections"),
  ),
  mutation(
    "skills: a redirect leads to any host",
    [[skills, "if (!isAllowed(new URL(target))) {", "if (!isAllowed) {"]],
    skill("a redirect to another host is refused"),
  ),
  mutation(
    "skills: the headers of a skill go to the hosts of its pages",
    [[skills, "(new URL(target).origin === origin ? headers : {})", "(target ? headers : {})"]],
    skill("the headers of skills go to the origin of the skill, and not to other hosts of its pages"),
  ),
  mutation(
    "skills: a workspace is searched without trust",
    [
      [
        skills,
        "options.folders ?? (trusted ? skillFolders : [])",
        "options.folders ?? (trusted !== undefined ? skillFolders : [])",
      ],
    ],
    skill("none unless the workspace is trusted"),
  ),
  mutation(
    "skills: one that is malformed is used",
    [
      [
        skills,
        '    complain("it has no description")\n    return undefined\n',
        '    complain("it has no description")\n    return { name: nameOf(field("name"), folder, complain), description: "" }\n',
      ],
    ],
    skill("is left out with a warning"),
  ),
  mutation(
    "skills: a page of any path is read",
    [
      [
        skills,
        "const page = [given, `pages/${given}`, `pages/${given}.md`].find((path) => pages.includes(path))",
        "const page = pages.length >= 0 ? given : undefined",
      ],
      [skills, "if (!isPagePath(given)) throw", "if (!given) throw"],
    ],
    skill("is refused if its path is"),
  ),
  mutation(
    "memory: all spaces of a workspace are one",
    [[memory, 'space === undefined ? ".longhaul/memory"', 'space !== "" ? ".longhaul/memory"']],
    remember("two workspaces, and two spaces of one, never see each other"),
  ),
  mutation(
    "memory: the model writes rules",
    [[memory, 'options.allowRules ? ["lesson", "rule"] : ["lesson"]', '["lesson", "rule"]']],
    remember("cannot write rules or the profile"),
  ),
  mutation(
    "memory: a model hides what a person wrote",
    [
      [
        memory,
        "newer.kind === older.kind && (newer.run === undefined || older.run !== undefined)",
        "newer.kind === older.kind",
      ],
    ],
    remember("corrects a lesson by naming it, but not one of a person"),
  ),
  mutation(
    "memory: a repeated call remembers its item twice",
    [[memory, "const id = itemId(idempotencyKey)", "const id = itemId(`${idempotencyKey}${performance.now()}`)"]],
    ["test/memory-crash.test.ts", "a process killed around any write"],
  ),
  mutation(
    "memory: secrets are remembered",
    [[memory, 'redact ? redact(String(given.text ?? "")).trim()', 'redact ? String(given.text ?? "").trim()']],
    remember("that memorizes a secret by its reference stores the reference"),
  ),
  mutation(
    "memory: lessons are instructions",
    [
      [
        memory,
        '`${LESSONS}\\n${fencedData(MEMORY_TAG, chosen.map(described).join("\\n"))}`',
        'chosen.map(described).join("\\n")',
      ],
    ],
    remember("that was poisoned leaves text that stays fenced as data"),
  ),
  mutation(
    "memory: read-only writes episodes",
    [[memory, "if (isWritten && result", "if (result"]],
    remember("read-only memory offers no Memorize and writes nothing"),
  ),
  mutation(
    "knowledge: a reference with .. is a path",
    [[knowledge, 'safeName.test(name) && !name.includes("..")', "name.length > 0"]],
    place("a reference with"),
  ),
  mutation(
    "knowledge: a run reads bases that it does not name",
    [
      [
        knowledge,
        "const scope = folders ?? (await place.store.list(place.root))",
        "const scope = (await place.store.list(place.root))",
      ],
    ],
    place("a search finds nothing outside the run's folders"),
  ),
  mutation(
    "knowledge: the address of a document is in the error",
    [
      [
        knowledge,
        "`ext:${name} cannot be read: its server responded with status ${body.status}.`",
        "`${url} cannot be read: its server responded with status ${body.status}.`",
      ],
    ],
    external("in the message of a failure"),
  ),
  mutation(
    "knowledge: settings of one run are taken by a runtime",
    [
      [
        knowledge,
        "return folders !== undefined || external.some(({ headers }) => headers !== undefined)",
        "return folders === undefined && external.length < 0",
      ],
    ],
    ["test/knowledge.test.ts", "the extension with"],
  ),
  mutation(
    "knowledge: a text is masked from the offset on",
    [
      [
        knowledge,
        "const rest = offset > 0 ? masked.slice(offset) : masked",
        "const rest = offset > 0 ? redact(text.slice(offset)) : masked",
      ],
    ],
    knowing("shows no part of a secret, wherever a part of the text begins or ends"),
  ),
  mutation(
    "knowledge: an index that could not be built once is never built",
    [[knowledge, "if (this.#index === index) this.#index = undefined\n", ""]],
    knowing("that is missing and could not be built once is built by the next search"),
    knowing("that is damaged in a way that only a search finds and could not be built once"),
  ),
  mutation(
    "knowledge: a stale index is used as it is",
    [
      [
        knowledge,
        "if (index.digestOf(path) === digest) return undefined",
        "if (index.digestOf(path)) return undefined",
      ],
    ],
    ["test/knowledge.test.ts", "an index that is stale is brought up to date"],
  ),
  mutation(
    "memory: line breaks in a rule forge others",
    [["src/extensions/memory/remembered.ts", '.replace(/\\s*\\n\\s*/g, " ")', ""]],
    ["src/extensions/memory/items.test.ts", "line breaks in one rule make no second one"],
  ),
  mutation(
    "memory: items that are written later are never seen",
    [
      [
        memory,
        "const isUnread = ({ path }: ItemFile) => !this.#known.has(path)",
        "const isUnread = ({ path }: ItemFile) => !this.#known.has(path) && !this.#hasCopy",
      ],
    ],
    item("items that others write later are seen"),
  ),
  mutation(
    "memory: what a person wrote gives way in a full memory",
    [[memory, "item.run !== undefined && item.id !== id", "item.id !== id"]],
    remember("never what a person wrote"),
  ),
  mutation(
    "memory: what runs use gives way in a full memory",
    [[memory, "1 + (uses.get(item.id) ?? 0)", "1"]],
    remember("then what no run has used"),
  ),
  mutation(
    "memory: a copy speaks for files that it does not name",
    [[memory, "path === `${each}/${String(item.id)}.md`", "path.startsWith(each)"]],
    item("names another file"),
  ),
  mutation(
    "memory: who only reads a memory writes its copy",
    [[memory, "unread.some(isCopied) && this.#isWritten", "unread.some(isCopied)"]],
    item("who only reads a memory writes no copy"),
  ),
  mutation(
    "memory: people cannot correct what people wrote",
    [[memory, "(newer.run === undefined || older.run !== undefined)", "older.run !== undefined"]],
    item("a person may correct what a person wrote"),
  ),
  mutation(
    "memory: the time of an item ends at its first colon",
    [[memory, 'line.slice(line.indexOf(":") + 1)', 'line.slice(line.lastIndexOf(":") + 1)']],
    item("an item is read as it was written"),
  ),
  mutation(
    "memory: episodes come in the order of the ids of their runs",
    [
      [
        memory,
        ".toSorted((left, right) => (left.at < right.at ? 1 : -1))\n  }\n\n  async #read",
        "\n  }\n\n  async #read",
      ],
    ],
    item("episodes come newest first"),
  ),
  mutation(
    "memory: a run that ends twice alike has two episodes",
    [[memory, "if (others.some((other) => other?.status === status && other.text === episode.text)) return", ""]],
    item("episodes come newest first"),
  ),
  mutation(
    "memory: a profile is cut without a warning",
    [[memory, "rules.isCut || facts.isCut", "rules.isCut"]],
    remember("that has not the whole profile"),
  ),
  mutation(
    "memory: spaces are remembered",
    [[memory, 'redact(String(given.text ?? "")).trim()', 'redact(String(given.text ?? ""))']],
    remember("cannot fill the memory beyond its limit"),
  ),
  mutation(
    "knowledge: the first base with a match comes first",
    [[knowledge, ".sort((left, right) => right.hit.score - left.hit.score)", ""]],
    knowing("the knowledge is searched over all bases"),
  ),
  mutation(
    "knowledge: a document of two folders is there twice",
    [[knowledge, "files.filter(({ path }) => !known.some((file) => file.path === path))", "files"]],
    knowing("has each document once if a run names its folder"),
  ),
  mutation(
    "knowledge: other numbers are found",
    [
      [
        knowledge,
        "(term.length > 4 && !isUnspaced(term) && !/\\d/.test(term) ? 0.2 : false)",
        "(term.length > 4 ? 0.2 : false)",
      ],
    ],
    knowing("the knowledge is searched over all bases"),
  ),
  mutation(
    "knowledge: an index that fails in a search fails the search",
    [[knowledge, "return (await this.#kept(this.#built(await BaseIndex.empty()))).find(query, limit)", "throw error"]],
    knowing("without the lengths of its fields"),
  ),
  mutation(
    "knowledge: code in a line hides the headings after it",
    [[knowledge, 'mark?.startsWith("`") && line.includes("`", whole.length) ? undefined : mark', "mark"]],
    ["src/extensions/knowledge/sections.test.ts", "Markdown is split after code in a line"],
  ),
  mutation(
    "api: patterns of a document that cannot run in linear time stay in its parameters",
    [
      [
        "src/extensions/api/open-api/service.ts",
        "schema: linear[index]?.schema ?? {}",
        "schema: linear.length > index ? parameter.schema : {}",
      ],
    ],
    ["test/hostile-server-schemas.test.ts", "with patterns that cannot run in linear time loses them alone"],
  ),
  mutation(
    "api: patterns of a document that cannot run in linear time stay in its bodies",
    [["src/extensions/api/open-api/service.ts", "schema: linearBody?.schema ?? {}", "schema: body.schema"]],
    ["test/hostile-server-schemas.test.ts", "with patterns that cannot run in linear time loses them alone"],
  ),
  mutation(
    "api: nobody is told that a pattern of a document is not checked",
    [["src/extensions/api/index.ts", '    run.warn("api_pattern_unchecked", message)\n', "    void message\n"]],
    ["test/hostile-server-schemas.test.ts", "with patterns that cannot run in linear time loses them alone"],
  ),
]
