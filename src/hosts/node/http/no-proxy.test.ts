import { expect, test } from "vitest"
import { proxiedRoute } from "./proxy.ts"

test.each([
  ["*", "https://api.example", true],
  ["api.example", "https://api.example", true],
  ["API.Example", "https://api.example", true],
  ["api.example", "https://eu.api.example", true],
  ["api.example", "https://myapi.example", false],
  [".example", "https://api.example", true],
  ["*.example", "https://api.example", true],
  [".example", "https://example", true],
  ["example.", "https://api.example.", true],
  ["api.example:443", "https://api.example", true],
  ["api.example:80", "https://api.example", false],
  ["api.example:8443", "https://api.example:8443", true],
  ["a b,c\tapi.example", "https://api.example", true],
  ["", "https://api.example", false],
  [".", "https://api.example", false],
  [",,", "https://api.example", false],
  ["10.0.0.1", "https://10.0.0.1", true],
  ["0.0.1", "https://10.0.0.1", false],
  ["10.0.0.0/8", "https://10.1.2.3", true],
  ["10.0.0.0/8", "https://11.1.2.3", false],
  ["10.0.0.0/8", "https://api.example", false],
  ["10.0.0.0/", "https://11.1.2.3", false],
  ["10.0.0.0/99", "https://10.1.2.3", false],
  ["fd00::/8", "https://[fd12::1]", true],
  ["::1", "https://[::1]", true],
  ["[::1]", "https://[::1]", true],
  ["[::1]:443", "https://[::1]", true],
  ["[::1]:80", "https://[::1]", false],
  ["localhost", "https://127.0.0.1", false],
])("NO_PROXY=%j with %s: direct is %s", (except, target, direct) => {
  const https = { name: "HTTPS_PROXY", value: "http://proxy.example" }
  expect(proxiedRoute(new URL(target), { http: undefined, https, except }) === null).toBe(direct)
})
