// Promises about MCP servers and about what a run draws on: who is trusted, who gets which secret, what is repeated, what is recorded.
import { mutation } from "./mutation.mjs"

const mcp = "src/extensions/mcp"
const runtime = "src/run/extensions"
const kernel = "src/tools/kernel"
const definitions = (name) => ["test/mcp-definitions.test.ts", name]
const client = (name) => ["test/mcp-client.test.ts", name]
const sampling = (name) => ["test/mcp-sampling.test.ts", name]
const logins = (name) => ["src/extensions/mcp/logins.test.ts", name]
const login = (name) => ["src/hosts/node/mcp/login.test.ts", name]
const inner = (name) => ["src/run/calls/inner-call.test.ts", name]
const sample = (name) => ["src/run/extensions/sample.test.ts", name]
const opened = (name) => ["src/run/extensions/extensions.test.ts", name]
const echoed = (name) => ["test/mcp-echoed-tokens.test.ts", name]
const connection = (name) => ["src/extensions/mcp/connection.test.ts", name]
const pins = (name) => ["src/extensions/mcp/pins.test.ts", name]

export const mutations = [
  mutation(
    "mcp: a server is passed on to a vendor's program without the settings of our connection",
    [["src/settings/options/extensions.ts", "mayPassOn && isPlain(server)", "mayPassOn"]],
    ["src/settings/options/extensions.test.ts", "which only the runtime's own connection has, is not passed on"],
  ),
  mutation(
    "mcp: a pattern of a server runs in JavaScript's own engine",
    [["src/lib/json-schema.ts", "patterns.size === 0 ? schema : withoutPatterns(schema, value, patterns)", "schema"]],
    ["test/hostile-schemas.test.ts", "a pattern is evaluated by the linear engine only"],
  ),
  mutation(
    "mcp: a schema whose references double is checked",
    [["src/lib/schema/linear-schema.ts", "if (expandedSize(schema) > MAX_EXPANDED) throw", "if (false) throw"]],
    ["test/hostile-schemas.test.ts", "references that double with each level are refused before a value is checked"],
  ),
  mutation(
    "mcp: a tool that changed since the workspace saw it is offered",
    [[mcp, 'new Set(pins === "warn" ? [] : changed.map((tool) => tool.name))', "new Set()"]],
    definitions("is withheld after it changed its description"),
    definitions("that changes while a run is paused is not called"),
  ),
  mutation(
    "mcp: a tool that a server adds later is trusted",
    [[mcp, '[{ name, difference: "it is new" }]', "[]"]],
    definitions("is withheld after it changed its name"),
  ),
  mutation(
    "mcp: a pin is only a name",
    [[mcp, "return canonicalJson(before) === canonicalJson(definition)\n        ? []", "return before\n        ? []"]],
    pins("a pin is the whole definition: another description"),
    pins("a pin is the whole definition: another inputSchema"),
    pins("a pin is the whole definition: another annotations"),
  ),
  mutation(
    "mcp: servers of one name share their pins, wherever they are",
    [[mcp, "`${server.name}-${sha256(identityOf(server.server)).slice(0, 8)}-`", "`${server.name}-`"]],
    pins("a server with another address has pins of its own"),
    pins("a server with another program has pins of its own"),
  ),
  mutation(
    "mcp: a token that is repeated in a resource reaches the model",
    [
      [
        mcp,
        "return this.#masked(await this.#request((client) => client.readResource(",
        "return (await this.#request((client) => client.readResource(",
      ],
    ],
    echoed("in the text of a resource reaches nobody"),
    echoed("in the bytes of a resource reaches nobody"),
  ),
  mutation(
    "mcp: a token that is repeated in a list of resources reaches the model",
    [
      [
        mcp,
        "return { resources, templates: resourceTemplates }\n    })\n    return this.#masked(listed)",
        "return { resources, templates: resourceTemplates }\n    })\n    return listed",
      ],
    ],
    echoed("in the list of resources reaches nobody"),
    echoed("in the list of templates reaches nobody"),
  ),
  mutation(
    "mcp: a token that is repeated in a result reaches the model",
    [[mcp, '"resultType" in result ? result : this.#masked(result)', "result"]],
    echoed("in the text of a result reaches nobody"),
    echoed("in structured content reaches nobody"),
  ),
  mutation(
    "mcp: a token that is repeated in instructions reaches the model",
    [[mcp, "quoted(name, connection.masked(instructions))", "quoted(name, instructions)"]],
    echoed("in instructions reaches nobody"),
  ),
  mutation(
    "mcp: a token that is repeated in progress reaches listeners",
    [[mcp, "progress(this.masked(describe(at)))", "progress(describe(at))"]],
    echoed("in reports of progress reaches nobody"),
  ),
  mutation(
    "mcp: a token is known in its plain spelling only",
    [
      [
        "src/lib/text/masks.ts",
        "[...this.#values.keys()].flatMap((each) => formsOf(each).map(({ text }) => text))",
        "[...this.#values.keys(), ...formsOf(value).map(({ text }) => text).slice(0, 0)]",
      ],
    ],
    echoed("in the bytes of a resource reaches nobody"),
  ),
  mutation(
    "mcp: a server may ask for a login without end",
    [[mcp, "const MAX_LOGINS = 2", "const MAX_LOGINS = 200"]],
    connection("whenever it is connected to gets two logins of a person"),
    connection("for each request gets two logins of a person"),
  ),
  mutation(
    "mcp: a server that could not be reached once is never tried again",
    [[mcp, "if (this.#connected === attempt) this.#connected = undefined\n", ""]],
    connection("a connection whose program cannot be started is tried anew by the next request"),
  ),
  mutation(
    "mcp: an answered request of a server still counts as nested",
    [[mcp, "    } finally {\n      depth--\n    }", "    } finally {\n      depth += 0\n    }"]],
    sampling("a server gets as many answers as it wants, one after another"),
  ),
  mutation(
    "mcp: the hints of a tool are not part of its pin",
    [[mcp, "hints: (annotations ?? {}) as Json } as JsonObject", "hints: {} } as JsonObject"]],
    definitions("is withheld after it changed its hints"),
  ),
  mutation(
    "mcp: of two servers that claim one name the first is called",
    [
      [
        mcp,
        "return tools.filter(({ name }) => counts.get(name) === 1)",
        "return tools.filter((tool, at) => tools.findIndex(({ name }) => name === tool.name) === at)",
      ],
    ],
    definitions("a server cannot take the name of another server's tool"),
  ),
  mutation(
    "mcp: two tools of one server with the same cleaned name share it",
    [[mcp, "plain.length <= MAX_NAME_LENGTH && names.get(plain) === 1", "plain.length <= MAX_NAME_LENGTH"]],
    definitions("with a long name, or one that collides after cleaning"),
  ),
  mutation(
    "mcp: a server's hints are believed without trust",
    [
      [
        mcp,
        'if (isTrusted && hints.readOnlyHint === true) return "none"',
        'if (hints.readOnlyHint === true) return "none"',
      ],
    ],
    client("has the effects and risks of the careful case"),
  ),
  mutation(
    "mcp: the headers of a server go to every origin",
    [[mcp, "const isOwn = new URL(url).origin === origin", "const isOwn = origin !== undefined"]],
    logins("have the server's headers at its own origin, and nowhere else"),
  ),
  mutation(
    "mcp: the provider of headers is asked again and again after a 401",
    [
      [
        mcp,
        "    const response = await send()\n    if (isOwn",
        "    let response = await send()\n    for (let tries = 0; tries < 3 && response.status === 401; tries++) response = await send()\n    if (isOwn",
      ],
    ],
    logins("are sent once more after a 401"),
  ),
  mutation(
    "mcp: a run looks for the way to a login although nobody can log in",
    [[mcp, " else if (page === undefined && current?.refresh_token === undefined) throw loginNeeded(name)", ""]],
    logins("that does not exist is needed at once"),
  ),
  mutation(
    "mcp: a refresh forgets the rights that a server wanted",
    [[mcp, ", ...(isOpen && { wanted })", ""]],
    logins("whatever was refreshed meanwhile"),
  ),
  mutation(
    "mcp: the login of one tenant is used for another one",
    [[mcp, "canonicalJson([tenant, name, server.url])", "canonicalJson([name, server.url])"]],
    logins("is not used for another tenant"),
  ),
  mutation(
    "mcp: a login follows its name to another address",
    [[mcp, "canonicalJson([tenant, name, server.url])", "canonicalJson([tenant, name])"]],
    logins("is not used for another address"),
  ),
  mutation(
    "mcp: the tokens of one issuer are sent to another one",
    [[mcp, "const issuer = context?.issuer ?? last", "const issuer = last"]],
    logins("gives the tokens and the client of one issuer to no other one"),
  ),
  mutation(
    "mcp: files with tokens are readable for all",
    [["src/hosts/node/files/private-file.ts", 'mode: 0o600, flag: "wx"', 'mode: 0o644, flag: "wx"']],
    login("tokens are in files that only their user can read"),
  ),
  mutation(
    "mcp: any redirect ends a login",
    [
      [
        "src/hosts/node/mcp/login-page.ts",
        "const login = logins.get(state)",
        "const login = logins.get(state) ?? [...logins.values()][0]",
      ],
    ],
    login("a login ends with the redirect that has its state"),
  ),
  mutation(
    "mcp: a lost answer of a call with an effect is an ordinary error",
    [[mcp, 'if (!isHeard || effect === "none") return', "if (!isHeard || effect) return"]],
    client("that does not answer a call in time leaves its outcome unknown"),
    client("that dies in the middle of a call leaves its outcome unknown"),
  ),
  mutation(
    "mcp: a call whose connection was cut is sent again",
    [
      [
        mcp,
        "return error instanceof SdkHttpError && error.status === 404",
        "return !(error instanceof SdkHttpError) || error.status === 404",
      ],
    ],
    client("that cuts the connection during a call leaves the outcome unknown"),
  ),
  mutation(
    "mcp: a session that the server forgot is not opened again",
    [[mcp, "if (!(await isLostSession(error))) throw error", "throw error"]],
    client("that forgets its session is initialised once more"),
  ),
  mutation(
    "mcp: a required server that is not there is only a warning",
    [[mcp, "if (server.required) {", "if (server.required && pins === undefined) {"]],
    client("or fails the run if it is required"),
  ),
  mutation(
    "mcp: a server may sample without permission",
    [
      [mcp, "if (server.allowSampling) {", "if (name) {"],
      [mcp, "...(server.allowSampling && { sampling: {} })", "...(name && { sampling: {} })"],
    ],
    sampling("a server is told of nothing"),
  ),
  mutation(
    "mcp: nested sampling has no end",
    [[mcp, "if (depth > DEFAULT_SAMPLING_MAX_DEPTH)", "if (depth > DEFAULT_SAMPLING_MAX_DEPTH * 100)"]],
    sampling("a server is refused more than three nested requests"),
  ),
  mutation(
    "mcp: instructions of a server pass for the host's",
    [[mcp, 'const lines = text.split("\\n").map((line) => `> ${line}`)', 'const lines = text.split("\\n")']],
    client("has instructions that reach the model as a quotation"),
  ),
  mutation(
    "mcp: hidden characters of a definition reach the model",
    [[mcp, 'return text.replace(hiddenCharacters, "")', "return hiddenCharacters ? text : text"]],
    client("has instructions that reach the model as a quotation"),
  ),
  mutation(
    "mcp: files of browser tools land where the model says",
    [[mcp, 'const name = path.split(/[\\\\/]/).at(-1) ?? ""', "const name = path"]],
    definitions("files of browser tools"),
  ),
  mutation(
    "mcp: a call through CallTool has the effect of CallTool",
    [[kernel, "if (inner !== undefined && inner.tool !== tool) return effectOf(inner.tool, inner.args)\n", ""]],
    inner("is the effect of the inner call: repeatable"),
    inner("cannot be hidden by an outer tool that declares none"),
  ),
  mutation(
    "mcp: the arguments of a call through CallTool are not checked",
    [
      [
        kernel,
        "if (inner === undefined || inner.tool === tool) return outer",
        "if (inner === undefined || inner.tool) return outer",
      ],
    ],
    inner("are checked again after a rule has changed them"),
    definitions("get no arguments that their schemas reject"),
  ),
  mutation(
    "mcp: a person is asked about a call that cannot run",
    [["src/run/calls", "inside.rejected = await this.#rejectedInside(each)\n", ""]],
    inner("are checked before the policy, a person and the hooks see them"),
  ),
  mutation(
    "mcp: changes of a person replace the arguments of the outer call",
    [
      [
        "src/run/calls",
        "const changed = seenCall(run, { ...call, args: asked }).outer(given.args)",
        "const changed = given.args",
      ],
    ],
    inner("that a person changes are those of the inner call"),
  ),
  mutation(
    "mcp: a request to the model is sent before its reserve is durable",
    [
      [
        runtime,
        '    journal.append({ type: "sample-start", sample, source, reserve: held })\n    await journal.flush()\n',
        '    journal.append({ type: "sample-start", sample, source, reserve: held })\n',
      ],
    ],
    sample("is reserved durably before it is sent"),
    sample("is not sent if its reserve cannot be made durable"),
  ),
  mutation(
    "mcp: the reserve of a request that was never answered is forgiven",
    [["src/journal/spending.ts", "    for (const reserve of this.#samples.values()) this.#count(reserve)\n", ""]],
    sample("counts with its whole reserve if the process dies before the answer: tokens"),
  ),
  mutation(
    "mcp: an answered request counts with its reserve too",
    [["src/journal/spending.ts", "    if (sample !== undefined) this.#samples.delete(sample)\n", ""]],
    sample("counts with its usage and not with its reserve after its answer"),
  ),
  mutation(
    "extensions: a run begins before it is recorded what it draws on",
    [[runtime, "    await journal.flush()\n  }\n\n  #changed(", "  }\n\n  #changed("]],
    opened("which are recorded after run-start and before the first turn"),
  ),
  mutation(
    "extensions: a resumed run gets tools that it did not have",
    [[runtime, "&& (before?.has(name) ?? true)", ""]],
    opened("gets back what it recorded, and the run keeps its instructions and its tools"),
  ),
  mutation(
    "extensions: instructions of a resumed run change under it",
    [
      [
        runtime,
        "const instructions = recorded ? recorded.instructions : opened.instructions",
        "const instructions = opened.instructions",
      ],
    ],
    opened("gets back what it recorded, and the run keeps its instructions and its tools"),
  ),
  mutation(
    "extensions: an extension reaches the store of another workspace",
    [[runtime, ' && part !== "." && part !== ".."', ""]],
    opened("reaches only its workspace in the store"),
  ),
  mutation(
    "extensions: all workspaces share one place in the store",
    [
      [
        runtime,
        'const root = `workspaces/${checkedId("workspaceId", workspaceId)}`',
        'const root = `workspaces/${checkedId("workspaceId", "shared")}${workspaceId.slice(0, 0)}`',
      ],
    ],
    opened("reaches only its workspace in the store"),
  ),
  mutation(
    "extensions: those of a run and of the runtime with one name are both opened",
    [
      [
        "src/settings/options/extensions.ts",
        "...runtime.filter(({ name }) => !run.some((own) => own.name === name))",
        "...runtime",
      ],
    ],
    opened("of a run replaces the runtime's of the same name"),
  ),
  mutation(
    "extensions: agents of a run do not get its instructions",
    [
      [
        "src/run/agents",
        "...(instructions === undefined ? [] : [instructions])].join",
        "...(instructions === undefined ? [] : [])].join",
      ],
    ],
    opened("is shared by the agents of a run: they have its tools and its instructions"),
  ),
  mutation(
    "extensions: a run widens the tools that its runtime allows",
    [
      [
        "src/settings/options/extensions.ts",
        "runtime.allowed && run.allowed ? both(runtime.allowed, run.allowed) : (run.allowed ?? runtime.allowed)",
        "run.allowed ?? runtime.allowed",
      ],
    ],
    opened("has its tools filtered by allowedTools and disabledTools"),
  ),
  mutation(
    "mcp: a pattern of a server that cannot run in linear time stays in the schema",
    [["src/extensions/mcp/index.ts", "return [{ ...definition, inputSchema: schema }]", "return [definition]"]],
    ["test/hostile-server-schemas.test.ts", "a tool with a pattern that cannot run in linear time"],
  ),
  mutation(
    "mcp: nobody is told that a pattern of a server is not checked",
    [
      [
        "src/extensions/mcp/index.ts",
        "if (dropped.length === 0) return [definition]",
        "return [{ ...definition, inputSchema: schema }]",
      ],
    ],
    ["test/hostile-server-schemas.test.ts", "a tool with a pattern that cannot run in linear time"],
  ),
  mutation(
    "mcp: a tool whose schema doubles with each reference is offered",
    [
      [
        "src/extensions/mcp/index.ts",
        'run.warn("mcp_schema_refused", `${named} is withheld: its schema ${error.message}.`)\n    return []',
        "return [definition]",
      ],
    ],
    ["test/hostile-server-schemas.test.ts", "whose schema doubles with each reference is withheld"],
  ),
  mutation(
    "mcp: the schemas of a server's tools are not looked at",
    [
      [
        "src/extensions/mcp/index.ts",
        "trustedTools.map((definition) => inLinearTime(run, definition))",
        "trustedTools.map((definition) => inLinearTime && [definition])",
      ],
    ],
    ["test/hostile-server-schemas.test.ts", "a tool with a pattern that cannot run in linear time"],
    ["test/hostile-server-schemas.test.ts", "whose schema doubles with each reference is withheld"],
  ),
  mutation(
    "mcp: a server has a few seconds to start",
    [["src/extensions/mcp/start-time.ts", "const START_MS = 60_000", "const START_MS = 10_000"]],
    ["src/extensions/mcp/start-time.test.ts", "a server gets a minute to start"],
  ),
  mutation(
    "mcp: an installation is ended half-way",
    [["src/extensions/mcp/start-time.ts", "? INSTALL_MS : START_MS", "? START_MS : START_MS"]],
    ["src/extensions/mcp/start-time.test.ts", "a server gets a minute to start"],
  ),
]
