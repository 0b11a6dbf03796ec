import { expect, test } from "vitest"
import { policyCall, verdictOf } from "../../../test/support/policy-scene.ts"

const allowDocs = {
  default: "deny",
  rules: [{ allow: { tool: "WebFetch", url: ["https://docs.example.com/api/**", "https://*.wiki.example.com/**"] } }],
} as const

test.each([
  ["the host and path", "https://docs.example.com/api/a", "allow"],
  ["a query", "https://docs.example.com/api/a?b=c", "allow"],
  ["an escaped slash in the query", "https://docs.example.com/api/a?b=%2Fc", "allow"],
  ["the host in upper case", "https://DOCS.example.com/api/a", "allow"],
  ["a label below", "https://a.wiki.example.com/x", "allow"],
  ["two labels below", "https://a.b.wiki.example.com/x", "allow"],
  ["no label below", "https://wiki.example.com/x", "deny"],
  ["another scheme", "http://docs.example.com/api/a", "deny"],
  ["another port", "https://docs.example.com:8443/api/a", "deny"],
  ["a host that ends the same", "https://evilwiki.example.com/x", "deny"],
  ["a host that starts the same", "https://docs.example.com.evil.org/api/a", "deny"],
  ["the host as user info", "https://docs.example.com@evil.org/api/a", "deny"],
  ["user info before the host", "https://me@docs.example.com/api/a", "deny"],
  ["user info that is empty", "https://@docs.example.com/api/a", "deny"],
  ["a backslash", "https://evil.org\\@docs.example.com/api/a", "deny"],
  ["a backslash in the path", "https://docs.example.com/api\\..\\a", "deny"],
  ["an escaped slash", "https://docs.example.com/api/..%2f..%2fadmin", "deny"],
  ["an escaped slash in upper case", "https://docs.example.com/api/%2Fadmin", "deny"],
  ["a parent segment", "https://docs.example.com/api/../admin", "deny"],
  ["an escaped parent segment", "https://docs.example.com/api/%2e%2e/admin", "deny"],
  ["a line break", "https://docs.example.com/api/a\nb", "deny"],
  ["a tab inside the host", "https://docs.exa\tmple.com/api/a", "deny"],
  ["a space before it", " https://docs.example.com/api/a", "deny"],
  ["a text that is not a URL", "docs.example.com/api/a", "deny"],
  ["the pattern in the query", "https://evil.org/?https://docs.example.com/api/a", "deny"],
  ["the pattern in the fragment", "https://evil.org/#https://docs.example.com/api/a", "deny"],
])("a URL permission and %s", async (_, url, verdict) => {
  expect(await verdictOf(allowDocs, policyCall("WebFetch", { url }))).toBe(verdict)
})

test.each([
  ["fetches an allowed address", "WebFetch", { url: "https://docs.example.com/api/a" }, "allow"],
  ["fetches another address", "WebFetch", { url: "https://evil.org/" }, "deny"],
  ["fetches nothing", "Read", { path: "a.txt" }, "deny"],
  ["fetches nothing, as a command", "Bash", { command: "ls" }, "deny"],
  ["is a tool of somebody else", "lookup", { path: "a.txt" }, "deny"],
])("a permission to fetch an address and a call that %s", async (_, tool, args, verdict) => {
  const allow = { fetch: "https://docs.example.com/api/**" }
  expect(await verdictOf({ default: "deny", rules: [{ allow }] }, policyCall(tool, args))).toBe(verdict)
})

const denyAdmin = {
  default: "allow",
  rules: [{ deny: { tool: "WebFetch", url: ["*://example.com/admin/**", "*://127.0.0.1/**"] } }],
} as const

test.each([
  "https://example.com/admin/x",
  "http://example.com/admin",
  "https://example.com:444/admin/x",
  "https://user:pass@example.com/admin/x",
  "https://EXAMPLE.com./ADMIN/x",
  "https://example.com/%61dmin/x",
  "https://example.com/admin%2fx",
  "https://example.com//admin/x",
  "https://example.com/a/../admin/x",
  "https:\\\\example.com\\admin\\x",
  "http://2130706433/",
  "http://0x7f.1/",
  "not a url",
])("a URL refusal applies to %s", async (url) => {
  expect(await verdictOf(denyAdmin, policyCall("WebFetch", { url }))).toBe("deny")
})

test("a URL refusal does not apply to other hosts and paths", async () => {
  for (const url of ["https://example.com/", "https://example.com/administer", "https://a.example.com/admin/x"]) {
    expect(await verdictOf(denyAdmin, policyCall("WebFetch", { url }))).toBe("allow")
  }
})

test.each([
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/x",
  "http://[64:ff9b::127.0.0.1]/",
  "https://example.com/x%2f..%2fadmin/y",
  "https://example.com/x/..%2fadmin/y",
  "https://example.com/x%5c..%5cadmin",
  "https://example.com/%61dmin/%ff",
  "https://example.com/admin;a=b/y",
  "https://example.com/x/..;/admin/y",
])("a URL refusal applies to what servers make of %s", async (url) => {
  expect(await verdictOf(denyAdmin, policyCall("WebFetch", { url }))).toBe("deny")
})

test("a URL permission for an IPv4 address does not cover it inside an IPv6 address", async () => {
  const rules = { default: "deny", rules: [{ allow: { tool: "WebFetch", url: "http://8.8.8.8/**" } }] } as const
  expect(await verdictOf(rules, policyCall("WebFetch", { url: "http://8.8.8.8/" }))).toBe("allow")
  expect(await verdictOf(rules, policyCall("WebFetch", { url: "http://[::ffff:8.8.8.8]/" }))).toBe("deny")
})
