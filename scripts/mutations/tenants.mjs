// Promises about tenants: nothing that is made or kept for a run of one reaches a run of another one.
import { mutation } from "./mutation.mjs"

const redaction = "src/run/state/redact-events.ts"
const keys = "src/lib/tenant/run-keys.ts"
const tenants = (name) => ["test/tenants.test.ts", name]
const place = (name) => ["src/extensions/knowledge/attacks.test.ts", name]

export const mutations = [
  mutation(
    "tenants: the idempotency key has no tenant",
    [[keys, "[tenant, runId, nodeId, agent, callId]", "[runId, nodeId, agent, callId]"]],
    tenants("the idempotency key of a call belongs to one tenant"),
  ),
  mutation(
    "tenants: two workspaces of a store have the same keys",
    [[keys, "JSON.stringify([await storeId(store), workspaceId])", "JSON.stringify([await storeId(store)])"]],
    tenants("the idempotency key of a call belongs to one tenant"),
  ),
  mutation(
    "tenants: one workspace of two stores has the same keys",
    [[keys, "JSON.stringify([await storeId(store), workspaceId])", "JSON.stringify([workspaceId])"]],
    tenants("the idempotency key of a call belongs to one tenant"),
  ),
  mutation(
    "tenants: a run of an older version gets other keys when it is resumed",
    [["src/run/open/open-run.ts", "key: { ...key, tenant: projection.tenant }", "key: { ...key, tenant }"]],
    tenants("a run that an older version began keeps its idempotency keys"),
  ),
  mutation(
    "tenants: tasks are kept by the id of the run alone",
    [
      ["src/tools/tasks.ts", "of({ runScope }: ToolContext)", "of({ runId: runScope }: ToolContext)"],
      ["src/tools/tasks.ts", "this.#lists.set(context.runScope, list)", "this.#lists.set(context.runId, list)"],
    ],
    tenants("the tasks of one tenant are not those of the other"),
  ),
  mutation(
    "tenants: a policy service gets one session for the runs of two tenants",
    [["src/policy/service/index.ts", "sessionId: runScope,", "sessionId: runId,"]],
    tenants("a policy service gets another session for the run of each tenant"),
  ),
  mutation(
    "tenants: pages are kept by the id of the run alone",
    [
      ["src/tools/web/web-fetch.ts", "pages.get(context.runScope, url)", "pages.get(context.runId, url)"],
      ["src/tools/web/web-fetch.ts", "pages.put(context.runScope, url, page)", "pages.put(context.runId, url, page)"],
    ],
    tenants("a page that one tenant has fetched is fetched again for the other"),
  ),
  mutation(
    "tenants: runs of two tenants share a folder of artifacts",
    [
      [
        "src/hosts/node/store/artifacts.ts",
        "if (tenant !== undefined) return runScope(tenant, run)",
        "if (tenant !== undefined) return runId",
      ],
    ],
    tenants("an artifact folder that they share has a folder for each run"),
  ),
  mutation(
    "tenants: each has its own limit of runs at once",
    [["src/runtime/runtime.ts", "isOwnLimit(overrides) ? undefined : permits", "undefined"]],
    tenants("ten tenants that share a limit of two runs have at most two at once"),
  ),
  mutation(
    "tenants: metadata is not compared",
    [["src/runs/list-runs.ts", "canonicalJson(metadata[name] ?? null) === canonicalJson(value)", "true"]],
    tenants("results, summaries and contexts name the tenant and have the metadata"),
  ),
  mutation(
    "tenants: a linked document of another tenant is read",
    [["src/hosts/node/store/linked-out.ts", "leadsOut(folder, openedPath(fd, path))", "false"]],
    ["src/hosts/node/store/linked-out.test.ts", "a store confined to a folder reads and lists no symbolic link"],
  ),
  mutation(
    "tenants: a linked folder of another tenant is listed",
    [["src/hosts/node/store/fs-store.ts", "names.filter((name) => stays(`${place}/${name}`))", "names"]],
    place("a document that leads to another tenant is neither searched nor read"),
  ),
  mutation(
    "tenants: a secret in a definition is pinned",
    [["src/extensions/mcp/pins.ts", "[tool.name, this.#masked(definedBy(tool))]", "[tool.name, definedBy(tool)]"]],
    ["src/extensions/mcp/pins.test.ts", "pins hold no secret that a program repeats in a definition"],
  ),
  mutation(
    "tenants: an undeclared secret is kept and found without the tenant",
    [
      [
        redaction,
        "undeclared.keep(callKey(key, call.callId), masked, args)",
        "undeclared.keep(callKey({ ...key, tenant: undefined }, call.callId), masked, args)",
      ],
      [
        redaction,
        "undeclared.find(callKey(key, call.callId), call.args)",
        "undeclared.find(callKey({ ...key, tenant: undefined }, call.callId), call.args)",
      ],
    ],
    ["src/run/state/redact-events.test.ts", "for the same call of a run that differs in another tenant alone"],
  ),
  mutation(
    "tenants: the runtimes of all tenants keep undeclared secrets in one place, by the run's id",
    [
      [
        "src/settings/config/secrets.ts",
        "undeclared: new UndeclaredTokens()",
        "undeclared: (globalThis.keptTokens ??= new UndeclaredTokens())",
      ],
      [
        redaction,
        "undeclared.keep(callKey(key, call.callId), masked, args)",
        "undeclared.keep(callKey({ ...key, tenant: undefined }, call.callId), masked, args)",
      ],
      [
        redaction,
        "undeclared.find(callKey(key, call.callId), call.args)",
        "undeclared.find(callKey({ ...key, tenant: undefined }, call.callId), call.args)",
      ],
    ],
    tenants("a token that one tenant's model used is not filled in for the same call"),
  ),
  mutation(
    "tenants: runs of the same name in stores that are not on disk share a folder for long output",
    [
      [
        "src/hosts/node/store/artifacts.ts",
        "[run.tenant ?? store.location, runPath(run)]",
        "[store.location, runPath(run)]",
      ],
    ],
    ["src/hosts/node/store/tenants.test.ts", "a run of the same name in another store that is not on disk"],
  ),
]
