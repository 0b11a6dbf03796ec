import { expect, test } from "vitest"
import { checkDocument, problemsIn } from "./check-document.ts"
import { presets } from "./presets.ts"

const any = { tool: "*" }

test.each<[string, unknown, string]>([
  ["a list", [], " is an array, not an object"],
  ["an unknown key", { rule: [] }, ' has an unknown key "rule" Did you mean "rules"?'],
  ["a key of the prototype", JSON.parse('{ "__proto__": {} }'), ' has an unknown key "__proto__"'],
  ["another version", { version: 2 }, "version is not 1"],
  ["an unknown preset", { extends: "readonly" }, 'extends is "readonly", not a preset Did you mean read-only?'],
  ["a member of the prototype as preset", { extends: "constructor" }, 'extends is "constructor", not a preset'],
  ["an unknown default", { default: "Allow" }, 'default is "Allow" Use one of: allow, ask, deny.'],
  ["an unknown way of unparsed", { unparsed: "allow" }, 'unparsed is "allow"'],
  ["rules that are no list", { rules: {} }, "rules is an object, not a list"],
  ["a rule without a verdict", { rules: [{ reason: "x" }] }, "rules[0] has none of allow, ask and deny"],
  ["a rule with two verdicts", rules({ allow: any, deny: any }), "rules[0] has allow and deny of allow, ask and deny"],
  ["a misspelt verdict", rules({ denny: any, allow: any }), 'rules[0] has an unknown key "denny" Did you mean "deny"?'],
  ["a matcher without a tool", rules({ deny: { agent: "a" } }), "rules[0].deny.tool is missing, not a text"],
  ["a misspelt matcher key", rules({ deny: { tool: "Read", paths: "a" } }), 'Did you mean "path"?'],
  [
    "a misspelt tool",
    rules({ deny: { tool: "Reed" } }),
    'rules[0].deny.tool names an unknown tool "Reed" Did you mean Read?',
  ],
  ["a tool in lower case", rules({ deny: { tool: ["Read", "bash"] } }), "rules[0].deny.tool[1] names an unknown tool"],
  ["a server without a tool", rules({ deny: { tool: "mcp:mail" } }), 'Write "mcp:mail/*".'],
  ["an empty list", rules({ deny: { tool: [] } }), "rules[0].deny.tool is an empty list, which never matches"],
  ["an empty text", rules({ deny: { tool: "" } }), "rules[0].deny.tool is empty"],
  ["a number as pattern", rules({ deny: { tool: "Read", path: 5 } }), "rules[0].deny.path is a number"],
  [
    "command on a tool without one",
    rules({ deny: { tool: "Read", command: "x" } }),
    "rules[0].deny.command does not apply to Read",
  ],
  [
    "path on a tool without one",
    rules({ deny: { tool: "WebFetch", path: "x" } }),
    "rules[0].deny.path does not apply to WebFetch",
  ],
  [
    "url on a tool without one",
    rules({ deny: { tool: ["WebFetch", "Read"], url: "https://a.org/" } }),
    "rules[0].deny.url does not apply to Read",
  ],
  [
    "a permission for commands by path",
    rules({ allow: { tool: "Bash", path: "x" } }),
    "rules[0].allow.path cannot allow commands",
  ],
  [
    "a permission for commands by the whole line",
    rules({ allow: { tool: "*", args: { "/command": "git .*" } } }),
    "rules[0].allow.args cannot allow commands by /command",
  ],
  [
    "a path with a parent segment",
    rules({ deny: { tool: "Read", path: "../a" } }),
    "rules[0].deny.path contains a parent folder",
  ],
  ["a path with braces", rules({ deny: { tool: "Read", path: "*.{a,b}" } }), "contains braces"],
  ["a path that starts with !", rules({ deny: { tool: "Read", path: "!a" } }), "starts with !"],
  ["a path of another user", rules({ deny: { tool: "Read", path: "~root/a" } }), "home folder of another user"],
  ["a path with a backslash", rules({ deny: { tool: "Read", path: "a\\b" } }), "contains a backslash"],
  ["a URL without a scheme", rules({ deny: { tool: "WebFetch", url: "a.org/**" } }), "is not a URL pattern"],
  ["a URL without a path", rules({ deny: { tool: "WebFetch", url: "https://a.org" } }), "is not a URL pattern"],
  [
    "a URL with a star in the middle of its host",
    rules({ deny: { tool: "WebFetch", url: "https://a*.org/" } }),
    "is not a URL pattern",
  ],
  ["a URL with a query", rules({ deny: { tool: "WebFetch", url: "https://a.org/?a" } }), "is not a URL pattern"],
  [
    "a pointer without a slash",
    rules({ deny: { tool: "x", args: { to: "a" } } }),
    'has the key "to", which is not a JSON pointer',
  ],
  ["a pointer into the prototype", rules({ deny: { tool: "x", args: { "/__proto__/a": "a" } } }), "not a JSON pointer"],
  ["a pattern with lookahead", rules({ deny: { tool: "x", args: { "/a": "(?=a)" } } }), "uses lookahead"],
  [
    "a pattern with an open quotation",
    rules({ deny: { tool: "x", args: { "/a": "\\Qa" } } }),
    'rules[0].deny.args["/a"]',
  ],
  ["a pattern that closes the group around it", rules({ deny: { tool: "x", args: { "/a": "a)|(b" } } }), "not valid"],
  [
    "a pattern that expands to too much",
    rules({ deny: { tool: "x", args: { "/a": "(a{1,100}){1,100}" } } }),
    "rules[0].deny",
  ],
  ["via on deny", rules({ deny: any, via: "pause" }), "rules[0].via is only for ask"],
  ["set on deny", rules({ deny: any, set: { "/a": 1 } }), "rules[0].set is not for deny"],
  ["set into the prototype", rules({ allow: any, set: { "/constructor/a": 1 } }), "not a JSON pointer"],
  ["an empty exception", rules({ deny: any, except: {} }), "rules[0].except is empty"],
  [
    "an unreachable permission",
    rules({ allow: { tool: "Read", path: "a" } }, { deny: any }),
    "rules[0] can never decide: rules[1] (deny)",
  ],
  [
    "a permission that a preset denies",
    { extends: "workspace-write", rules: [{ allow: { tool: "Write", path: "**/.npmrc" } }] },
    "rules[0] can never decide: rules[3] of the preset",
  ],
  ["an output rule without a pattern", { output: [{ block: { tool: "Read" } }] }, "output[0].block.pattern is missing"],
  ["an unknown tier", { tiers: { Read: "higher" } }, 'tiers["Read"] is "higher"'],
  ["a service without a URL", { services: [{ url: "x" }] }, "services[0].url is not a URL"],
  ["a test without an expectation", { tests: [{ call: { tool: "Read" } }] }, "tests[0].expect is missing"],
  [
    "a test with arguments that are no object",
    { tests: [{ call: { tool: "Read", args: 1 }, expect: "ask" }] },
    "tests[0].call.args is a number",
  ],
])("a document with %s is refused", async (_, document, problem) => {
  const lines = (await problemsIn(document)).map(({ place, message, fix }) => `${place} ${message} ${fix}`)
  expect(lines.join("\n")).toContain(problem)
})

test("every problem is reported with its place", async () => {
  const document = rules({ deny: { tool: "Reed" } }, { allow: { tool: "Read", pth: "a" } })
  await expect(checkDocument(document, "a.yaml")).rejects.toMatchObject({
    code: "config_invalid",
    message:
      'a.yaml has 2 problems:\n- rules[0].deny.tool names an unknown tool "Reed".\n- rules[1].allow has an unknown key "pth".',
    data: [{ place: "rules[0].deny.tool" }, { place: "rules[1].allow" }],
  })
})

test("a tool that is not close to a known one is refused only if all tools are known", async () => {
  const document = rules({ deny: { tool: "deploy" } })
  expect(await problemsIn(document)).toEqual([])
  expect(await problemsIn(document, { onlyKnownTools: true })).toMatchObject([{ place: "rules[0].deny.tool" }])
  expect(await problemsIn(document, { onlyKnownTools: true, tools: ["deploy"] })).toEqual([])
})

test("a stricter rule with an exception, or for fewer calls, makes no other rule unreachable", async () => {
  const allow = { allow: { tool: "Read", path: "a" } }
  for (const deny of [
    { deny: { tool: "Read" }, except: { path: "a" } },
    { deny: { tool: "Read", path: "b" } },
    { deny: { tool: "Read", agent: "root" } },
    { deny: { tool: "Read", args: { "/a": "b" } } },
    { deny: { tool: "Read", sandboxed: true } },
  ]) {
    expect(await problemsIn(rules(allow, deny))).toEqual([])
  }
})

test.each(Object.entries(presets))("the preset %s is a valid document", async (_, document) => {
  expect(await problemsIn(document, { onlyKnownTools: true })).toEqual([])
})

function rules(...list: object[]): object {
  return { rules: list }
}
