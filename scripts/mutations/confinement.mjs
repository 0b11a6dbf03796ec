// Promises about confinement: files, links, shells, secrets, the web, webhooks, the MCP server.
import { mutation, programMutation } from "./mutation.mjs"

const confine = "src/hosts/node/files/confine.ts"
const secrets = "src/policy/redact/value-search.ts"
const shell = "src/hosts/node/shell"
const http = "src/hosts/node/http"
const webhooks = "src/webhooks"

const attack = (name) => ["src/hosts/node/files/files-attacks.test.ts", name]
const race = (name) => ["src/hosts/node/files/files-race.test.ts", name]
const exception = (name) => ["src/run/calls/tool-exceptions.test.ts", name]
const fetched = (name) => ["src/hosts/node/http/guarded-fetch.test.ts", name]
const sandbox = (name) => ["src/hosts/node/shell/shell-sandbox.test.ts", name]
const hidden = (name) => ["src/hosts/node/store/hidden-store.test.ts", name]
const webhook = (name) => ["src/webhooks/settings.test.ts", name]

export const mutations = [
  mutation(
    "confinement: a path above the root is inside it",
    [
      [
        confine,
        'return rest === ".." || rest.startsWith(`..${sep}`) || isAbsolute(rest) ? undefined : rest',
        "return rest.startsWith(`..${sep}..${sep}`) || isAbsolute(rest) ? undefined : rest",
      ],
    ],
    attack("Read file tools deny .."),
  ),
  mutation(
    "confinement: a link that leads outside is followed",
    [
      [confine, '    check(join(location.real, ...location.missing), access, ["real"])\n', ""],
      [confine, '(at) => check(at, access, ["real"]))', "() => {})"],
    ],
    attack("Read file tools deny a link to a folder outside"),
  ),
  mutation(
    "confinement: what was reached is not checked, so that a swapped folder leads outside",
    [[confine, "    check(at)\n", ""]],
    race(""),
  ),
  mutation(
    "confinement: a link that was swapped in is opened",
    [
      [confine, "pathOnly | constants.O_NOFOLLOW", "pathOnly"],
      [confine, "    check(at)\n", ""],
    ],
    race(""),
  ),
  mutation(
    "confinement: something is written through a link that leads nowhere",
    [[confine, "if (await isLink(path)) throw ", 'if (path === "") throw ']],
    attack("file tools deny a dangling link"),
  ),
  mutation(
    "confinement: a read-only root can be written",
    [[confine, 'if (access === "write" && !root.writable) throw new ToolError("denied", "is read-only")', ""]],
    ["src/hosts/node/files/files.test.ts", "read-only"],
  ),
  mutation(
    "confinement: tools see the files of the runtime",
    [
      [
        confine,
        "if (leadsToOurs(inside.split(sep), access) || isHidden(root, candidate))",
        "if (isHidden(root, candidate))",
      ],
    ],
    attack("Read file tools deny a file in .longhaul"),
  ),
  mutation(
    "confinement: tools see a store that lies in the workspace",
    [[confine, "access) || isHidden(root, candidate))", "access))"]],
    hidden("the run works, and no tool finds the store in any spelling"),
  ),
  mutation(
    "confinement: a workspace may lie inside the store",
    [[confine, "if (folder === undefined || !writable) return", 'if (folder !== "") return']],
    hidden("a folder inside the store or state folder is rejected as a workspace"),
  ),
  mutation(
    "confinement: commands without a sandbox work where runs are kept",
    [[shell, 'if (sandbox === "off" && exposed) throw exposed', ""]],
    hidden("commands without a sandbox are rejected if their folder contains the store"),
  ),
  mutation(
    "confinement: commands can replace a link to the store",
    [[shell, "for (const store of stores) refuseLinkTo(store, root, resolve(options.root))", ""]],
    hidden("commands are rejected if a link in their folder leads to the store, because they could change the link"),
  ),
  mutation(
    "confinement: a required sandbox that does not work is done without",
    [[shell, 'if (settings.sandbox === "required" && "fault" in sandbox) throw sandboxUnavailable(sandbox.fault)', ""]],
    sandbox("no command runs if the required sandbox is not installed"),
    sandbox("no command runs if the required sandbox keeps nothing inside"),
  ),
  mutation(
    "confinement: a closed network without a sandbox is accepted",
    [[shell, 'if (network === "none" && sandbox === "off")', 'if (network === "none" && sandbox === undefined)']],
    ["src/hosts/node/shell/shell.test.ts", "a closed network without a sandbox"],
  ),
  mutation(
    "confinement: a system folder goes into the sandbox",
    [[shell, 'if (sandbox !== "off") for (const path of [root, ...readOnlyRoots]) refuseSystemFolder(path)', ""]],
    ["src/hosts/node/shell/shell.test.ts", "a system folder in a sandbox"],
  ),
  mutation(
    "confinement: the network is open in every sandbox",
    [[shell, 'network === "all" ? ["--share-net"] : []', '["--share-net"]']],
    ["src/hosts/node/shell/sandbox.test.ts", "no network"],
  ),
  mutation(
    "confinement: a sandboxed command keeps its capabilities",
    [[shell, '"--new-session", "--cap-drop", "ALL"', '"--new-session"']],
    ["src/hosts/node/shell/sandbox.test.ts", "no capabilities"],
  ),
  mutation(
    "confinement: a sandboxed command sees hidden folders",
    [[shell, '    ...hidden.map((path) => ["--tmpfs", path] as const),\n', ""]],
    ["src/hosts/node/shell/sandbox.test.ts", "hidden folders"],
  ),
  mutation(
    "confinement: a sandboxed command can change what governs the run",
    [[shell, "new Set([...readOnly, ...ownNamesIn(root), ", "new Set([...readOnly, "]],
    ["src/hosts/node/shell/sandbox.test.ts", "what governs the run"],
  ),
  mutation(
    "confinement: commands get the keys of this process",
    [[shell, "value !== undefined && (passed.test(name) || passEnv.includes(name))", "value !== undefined"]],
    ["src/hosts/node/shell/shell.test.ts", "the environment contains only the named variables"],
  ),
  mutation(
    "confinement: only the first echo of a secret is replaced",
    [[secrets, "hits.push(first)", "return [first]"]],
    exception("every echo of a secret"),
  ),
  mutation(
    "confinement: a secret that holds another is left half readable",
    [[secrets, "right.text.length - left.text.length", "left.text.length - right.text.length"]],
    exception("no part of a secret remains if a long message is cut within it or one secret contains another"),
  ),
  mutation(
    "confinement: an exception is cut before its secrets are replaced",
    [["src/tools/kernel/tool-exception.ts", "redact(text).slice(0, MAX_LENGTH)", "redact(text.slice(0, MAX_LENGTH))"]],
    exception("no part of a secret remains if a long message is cut within it or one secret contains another"),
  ),
  mutation(
    "confinement: an exception keeps its secrets",
    [["src/tools/kernel/tool-exception.ts", "redact(text).slice(0, MAX_LENGTH)", "text.slice(0, MAX_LENGTH)"]],
    exception("a tool's exception appears only in toolError and at debug, with known secrets redacted"),
  ),
  mutation(
    "confinement: only the first echo of a key is replaced",
    [["src/providers/converse.ts", 'refusal.body.replaceAll(apiKey, "…")', 'refusal.body.replace(apiKey, "…")']],
    ["src/providers/converse.test.ts", "every echo of a key in an error is redacted, not only the first"],
  ),
  mutation(
    "confinement: an address in a private network is fetched",
    [[http, "  if (!allowed && isPrivateHost(url)) throw refused(url)\n", ""]],
    ["src/hosts/node/http/guarded-fetch-refusals.test.ts", "in every spelling"],
  ),
  mutation(
    "confinement: a name that leads to a private address is fetched",
    [[http, "if (!allowed && !addresses.every(isPublicIp)) throw refused(url)", ""]],
    fetched("resolve to a private address are rejected"),
  ),
  mutation(
    "confinement: one public address among private ones is enough",
    [[http, "!addresses.every(isPublicIp)", "!addresses.some(isPublicIp)"]],
    fetched("resolve to one private address among public ones are rejected"),
  ),
  mutation(
    "confinement: a name is resolved again after it was checked",
    [[http, "    lookup: pinned,\n", ""]],
    fetched("a name is resolved once per request, and the checked address is the connected one"),
  ),
  mutation(
    "confinement: headers follow a redirect to another origin",
    [[http, "if (next.origin !== url.origin) headers = harmless(headers)", ""]],
    fetched("headers are sent to the first origin only, even if a redirect leads back to it"),
  ),
  mutation(
    "confinement: a redirect from https to http is followed",
    [
      [
        http,
        'if (url.protocol === "https:" && next.protocol === "http:")',
        'if (url.protocol === "ftp:" && next.protocol === "http:")',
      ],
    ],
    [
      "src/hosts/node/http/guarded-fetch-tls.test.ts",
      "a redirect from https to http is not followed; https to https and http to https are",
    ],
  ),
  mutation(
    "confinement: the metadata address of a cloud is public",
    [["src/lib/http/ip-address.ts", '  "169.254.0.0/16", // link-local, and the metadata of clouds\n', ""]],
    ["src/lib/http/ip-address.test.ts", "link-local and metadata"],
  ),
  mutation(
    "confinement: a private IPv4 address in IPv6 is public",
    [
      [
        "src/lib/http/ip-address.ts",
        "if (isIn(bytes, carriers)) return !isIn(bytes.slice(12), notPublic4)",
        "if (isIn(bytes, carriers)) return true",
      ],
    ],
    ["src/lib/http/ip-address.test.ts", "not public: mapped"],
  ),
  mutation(
    "confinement: a webhook to a private host is accepted",
    [
      [
        webhooks,
        "if (isPrivateHost(url) && !rules.isAllowed(url)) {",
        "if (isPrivateHost(url) && rules.isAllowed(url)) {",
      ],
    ],
    webhook("a webhook is rejected with a fix: this computer"),
  ),
  mutation(
    "confinement: a webhook is sent to a private host",
    [[webhooks, "if (isPrivateHost(target) && !isAllowed(target)) {", 'if (target.host === "") {']],
    webhook("a private address is rejected before anything is sent, unless allowed"),
  ),
  mutation(
    "confinement: a webhook follows redirects",
    [[webhooks, 'redirect: "manual"', 'redirect: "follow"']],
    webhook("webhooks do not follow redirects"),
  ),
  mutation(
    "confinement: the headers of a webhook replace ours",
    [
      [
        webhooks,
        "return { ...Object.fromEntries(theirs), ...ours }",
        "return { ...ours, ...Object.fromEntries(Object.entries(sending.headers)) }",
      ],
    ],
    webhook("an attempt has our headers, and custom ones that do not replace them"),
  ),
  mutation(
    "confinement: the secret of a webhook is on record",
    [
      [
        webhooks,
        "...(secretRef.length > 0 && { secretRef }),",
        "...(secretRef.length > 0 && { secretRef }), ...(secrets.length > 0 && { secrets }),",
      ],
    ],
    webhook("the recorded webhook contains no secret value and says what is missing"),
  ),
  mutation(
    "confinement: a webhook with a wrong signature is accepted",
    [[webhooks, "if (!matches.includes(true))", "if (matches.length === 0)"]],
    ["src/webhooks/verify.test.ts", "rejects a changed body"],
  ),
  mutation(
    "confinement: an old webhook is accepted",
    [[webhooks, 'if (ageSeconds > toleranceSeconds) throw refusal("too_old", "It was sent too long ago.")', ""]],
    ["src/webhooks/verify.test.ts", "verifyWebhook rejects timestamps more than five minutes old or ahead"],
  ),
  programMutation(
    "confinement: an MCP server takes any token",
    [
      [
        "src/hosts/node/mcp/guard.ts",
        "timingSafeEqual(digest(bearerOf(request)), expected) ? undefined",
        "expected.length > 0 ? undefined",
      ],
    ],
    ["test/mcp-http.test.ts", "the server accepts requests with the token and its own host name, and no others"],
  ),
]
