import { describe, expect, test } from "vitest"
import { linkedFiles, policyCall, verdictOf } from "../../../test/support/policy-scene.ts"
import type { PolicyCall, PolicyRule } from "../../contract/policy.ts"

const denyEnv = { default: "allow", rules: [{ deny: { tool: ["Read", "Write"], path: "**/.env*" } }] } as const
const allowSource = { default: "deny", rules: [{ allow: { tool: ["Read", "Write"], path: "src/**" } }] } as const

describe("a denied path", () => {
  test.each([
    ["as written", ".env"],
    ["below a folder", "a/b/.env.local"],
    ["with a dot segment", "./.env"],
    ["with a parent segment", "src/../.env"],
    ["with repeated slashes", "src//..///.env"],
    ["as an absolute path", "/ws/.env"],
    ["outside the workspace", "/srv/other/.env"],
    ["above the workspace", "../.env"],
    ["in upper case", ".ENV"],
    ["in mixed case below a folder", "a/.Env.Local"],
    ["with an invisible character", ".e\u200dnv"],
    ["with the long s", "a/.envſ"],
    ["with a trailing slash", ".env/"],
    ["through a folder that looks like the home folder", "~/.env"],
  ])("a denied path is denied %s", async (_, path) => {
    expect(await verdictOf(denyEnv, policyCall("Read", { path }))).toBe("deny")
    expect(await verdictOf(denyEnv, policyCall("Write", { file_path: path }))).toBe("deny")
  })

  test("a denied path is denied in another Unicode form", async () => {
    const rules = [{ deny: { tool: "Read", path: "geh\u00e9im/**" } }]
    expect(await verdictOf(rules, policyCall("Read", { path: "gehe\u0301im/x" }))).toBe("deny")
    const decomposed = [{ deny: { tool: "Read", path: "gehe\u0301im/**" } }]
    expect(await verdictOf(decomposed, policyCall("Read", { path: "geh\u00e9im/x" }))).toBe("deny")
  })

  test("a denied path is denied through a link, and by the name of a link", async () => {
    const resolvePath = linkedFiles({ "/ws/notes": "/ws/.env", "/ws/lib": "/ws/secrets" })
    expect(await verdictOf(denyEnv, policyCall("Read", { path: "notes" }), { resolvePath })).toBe("deny")
    const rules = [{ deny: { tool: "Read", path: "secrets/**" } }, { deny: { tool: "Read", path: "lib/**" } }]
    for (const path of ["lib/key", "secrets/key"]) {
      expect(await verdictOf(rules, policyCall("Read", { path }), { resolvePath })).toBe("deny")
    }
  })

  test("a denied path is denied from another working folder", async () => {
    const rules = [{ deny: { tool: "Read", path: "secrets/**" } }]
    expect(await verdictOf(rules, policyCall("Read", { path: "../secrets/a" }, { cwd: "/ws/src" }))).toBe("deny")
    expect(await verdictOf(rules, policyCall("Read", { path: "secrets/a" }, { cwd: "/ws/src" }))).toBe("tier")
  })

  test("a denied path is denied in a workspace that is itself a link", async () => {
    const resolvePath = linkedFiles({ "/ws": "/real" })
    const rules = [{ deny: { tool: "Read", path: "secrets/**" } }]
    expect(await verdictOf(rules, policyCall("Read", { path: "/real/secrets/a" }), { resolvePath })).toBe("deny")
  })

  test("a denied path is denied if it is one of several in a patch", async () => {
    const rules = [{ deny: { tool: "ApplyPatch", path: "**/.env" }, except: { path: "docs/.env" } }]
    const add = (path: string) => `*** Add File: ${path}\n+x\n`
    const patch = (...files: string[]) =>
      policyCall("ApplyPatch", { patch: `*** Begin Patch\n${files.join("")}*** End Patch` })
    expect(await verdictOf(rules, patch(add("a.ts"), add(".env")))).toBe("deny")
    expect(await verdictOf(rules, patch(add("a.ts"), add("docs/.env")))).toBe("tier")
    const move = "*** Update File: a.ts\n*** Move to: .env\n"
    expect(await verdictOf(rules, patch(move))).toBe("deny")
    const unified = "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\n"
    expect(await verdictOf(rules, policyCall("ApplyPatch", { patch: unified }))).toBe("deny")
    expect(await verdictOf(rules, policyCall("ApplyPatch", { patch: "nonsense" }))).toBe("deny")
  })

  test("a denied path is denied if the argument is not a text", async () => {
    expect(await verdictOf(denyEnv, policyCall("Read", { path: [".env"] }))).toBe("deny")
  })

  test("a denied path is denied if a folder is searched that contains it", async () => {
    const rules = [{ deny: { tool: ["List", "Grep"], path: "secrets/**" } }]
    for (const path of ["secrets", "secrets/", "./secrets/."]) {
      expect(await verdictOf(rules, policyCall("List", { path }))).toBe("deny")
    }
    expect(await verdictOf([{ deny: { tool: "Grep", path: "**" } }], policyCall("Grep", { pattern: "x" }))).toBe("deny")
  })
})

describe("an allowed path", () => {
  test.each([
    ["a file below it", "src/a.ts", "allow"],
    ["an absolute spelling", "/ws/src/a.ts", "allow"],
    ["another case", "SRC/a.ts", "deny"],
    ["a way out of it", "src/../secret", "deny"],
    ["a deeper way out of it", "src/a/../../../etc/passwd", "deny"],
    ["a folder whose name starts the same", "src-evil/a.ts", "deny"],
    ["an absolute path that ends the same", "/etc/src/a.ts", "deny"],
    ["a NUL character", "src/a\0.ts", "deny"],
    ["a folder named like the home folder", "~/src/a.ts", "deny"],
  ])("an allowed path decides about %s", async (_, path, verdict) => {
    expect(await verdictOf(allowSource, policyCall("Read", { path }))).toBe(verdict)
  })

  test("a link that leads out of it is not allowed", async () => {
    const resolvePath = linkedFiles({ "/ws/src/out": "/etc" })
    expect(await verdictOf(allowSource, policyCall("Read", { path: "src/out/passwd" }), { resolvePath })).toBe("deny")
    expect(await verdictOf(allowSource, policyCall("Read", { path: "src/in" }), { resolvePath })).toBe("allow")
  })

  test("a path that cannot be resolved is asked", async () => {
    const resolvePath = () => Promise.reject(new Error("loop"))
    expect(await verdictOf(allowSource, policyCall("Read", { path: "src/a" }), { resolvePath })).toBe("ask")
  })

  test("all paths of a patch must be allowed", async () => {
    const rules = { default: "deny", rules: [{ allow: { tool: "ApplyPatch", path: "src/**" } }] } as const
    const patch = (path: string) =>
      policyCall("ApplyPatch", {
        patch: `*** Begin Patch\n*** Add File: src/a\n+x\n*** Add File: ${path}\n+x\n*** End Patch`,
      })
    expect(await verdictOf(rules, patch("src/b"))).toBe("allow")
    expect(await verdictOf(rules, patch("b"))).toBe("deny")
  })

  test("two path arguments must both be allowed", async () => {
    const call = policyCall("Read", { path: "src/a", file_path: "/etc/passwd" })
    expect(await verdictOf(allowSource, call)).toBe("deny")
  })

  test("an absolute pattern through a link allows what it leads to", async () => {
    const resolvePath = linkedFiles({ "/tmp": "/private/tmp" })
    const rules = { default: "deny", rules: [{ allow: { tool: "Read", path: "/tmp/**" } }] } as const
    expect(await verdictOf(rules, policyCall("Read", { path: "/tmp/a" }), { resolvePath })).toBe("allow")
  })

  test("a star stays within a part, and the home folder is known", async () => {
    const rules = { default: "deny", rules: [{ allow: { tool: "Read", path: ["docs/*.md", "~/notes/*"] } }] } as const
    expect(await verdictOf(rules, policyCall("Read", { path: "docs/a.md" }))).toBe("allow")
    expect(await verdictOf(rules, policyCall("Read", { path: "docs/a/b.md" }))).toBe("deny")
    expect(await verdictOf(rules, policyCall("Read", { path: "x/docs/a.md" }))).toBe("deny")
    expect(await verdictOf(rules, policyCall("Read", { path: "/home/me/notes/a" }))).toBe("allow")
  })
})

test("a path pattern with many stars takes no exponential time", async () => {
  const rules = [{ deny: { tool: "Read", path: `${"**/*a*b*/".repeat(40)}end` } }]
  expect(await verdictOf(rules, policyCall("Read", { path: "aab/".repeat(2000) }))).toBe("tier")
})

test("a tool of unknown shape has its paths in arguments that usually hold them", async () => {
  const rules = [{ deny: { tool: "mcp:disk/*", path: "secrets/**" } }]
  for (const args of [
    { path: "secrets/a" },
    { file_path: "secrets/a" },
    { paths: ["a", "secrets/a"] },
    { source: "a", destination: "secrets/a" },
    { uri: "file:///ws/secrets/a" },
    { uri: "FILE:///ws/%73ecrets/a" },
    { path: { name: "secrets/a" } },
  ]) {
    expect(await verdictOf(rules, policyCall("mcp:disk/get", args))).toBe("deny")
  }
  expect(await verdictOf(rules, policyCall("mcp:disk/get", { name: "secrets/a" }))).toBe("tier")
  const allow = { default: "deny", rules: [{ allow: { tool: "mcp:disk/*", path: "src/**" } }] } as const
  expect(await verdictOf(allow, policyCall("mcp:disk/move", { source: "src/a", destination: "/etc/a" }))).toBe("deny")
  expect(await verdictOf(allow, policyCall("mcp:disk/get", { paths: ["src/a", "src/b"] }))).toBe("allow")
  expect(await verdictOf(allow, policyCall("mcp:disk/get", { paths: ["src/a", "b"] }))).toBe("deny")
  expect(await verdictOf(allow, policyCall("mcp:disk/get", { paths: [] }))).toBe("deny")
})

test("a glob pattern that leaves its folder counts as a path", async () => {
  const allow = { default: "deny", rules: [{ allow: { tool: "Glob", path: "**" } }] } as const
  for (const pattern of ["/etc/**", "../**", "src/../../x/*", "~/x", "/*"]) {
    expect(await verdictOf(allow, policyCall("Glob", { pattern }))).toBe("deny")
  }
  expect(await verdictOf(allow, policyCall("Glob", { pattern: "src/**/*.ts" }))).toBe("allow")
  const deny = [{ deny: { tool: "Glob", path: "/etc/**" } }]
  expect(await verdictOf(deny, policyCall("Glob", { pattern: "/etc/p*" }))).toBe("deny")
})

describe("a path in another spelling", () => {
  const resolvePath = linkedFiles({ "/ws/lib": "/ws/secrets", "/ws/src/out": "/etc", "/home/me/l": "/ws/secrets" })
  const deny = { default: "allow", rules: [{ deny: { tool: "*", path: ["secrets/**", "/home/me/**"] } }] } as const
  const allow = { default: "deny", rules: [{ allow: { tool: "*", path: "**" } }] } as const

  test.each([
    "file:///ws/lib/key",
    " file:///ws/secrets/key",
    "fi\tle:///ws/secrets/key",
    "file:///ws/%73ecrets%2fkey",
    "file:/ws/secrets/key",
    "~/l/key",
    "~",
  ])("%j is denied", async (uri) => {
    expect(await verdictOf(deny, policyCall("mcp:disk/get", { uri }), { resolvePath })).toBe("deny")
  })

  test.each(["file:///ws/src/out/passwd", " file:///etc/passwd", "~", "~root/x", "~/x"])(
    "%j is not allowed, since it can lead outside",
    async (uri) => {
      expect(await verdictOf(allow, policyCall("mcp:disk/get", { uri }), { resolvePath })).toBe("deny")
    },
  )

  test.each(["{../x,y}/*", "{x,../y}/*", "{/etc,x}/*", "@(..|a)/x", "a/{b,..}/../x", "[.][.]/x", "{~/x,y}"])(
    "the alternatives of the glob pattern %j count",
    async (pattern) => {
      expect(await verdictOf(allow, policyCall("Glob", { pattern }))).toBe("deny")
    },
  )

  test("a glob pattern with alternatives inside its folder is allowed", async () => {
    for (const pattern of ["src/**/*.{ts,tsx}", "{src,test}/**", "*.[jt]s"]) {
      expect(await verdictOf(allow, policyCall("Glob", { pattern }))).toBe("allow")
    }
  })
})

describe("the folders of a process", () => {
  const rules: PolicyRule[] = [{ deny: { path: "secrets/**" } }, { deny: { read: "/etc/shadow" } }]
  test.each([
    ["/proc/self/cwd/secrets/key"],
    ["/proc/self/cwd/../ws/secrets/key"],
    ["/proc/self/cwd/docs/../secrets/key"],
    ["/proc//self/./cwd//secrets/key"],
    ["/proc/thread-self/cwd/secrets/key"],
    ["/proc/self/task/12/cwd/secrets/key"],
    ["/proc/12/cwd/secrets/key"],
    ["/tmp/../proc/self/cwd/secrets/key"],
    ["/proc/self/root/ws/secrets/key"],
    ["/proc/self/root/proc/self/cwd/secrets/key"],
    [`${"/proc/self/root".repeat(40)}/ws/secrets/key`],
    ["/proc/self/root/etc/shadow"],
    ["file:///proc/self/cwd/secrets/key"],
  ])("%s is a path like others", async (path) => {
    // As this process would resolve them: from its own folder.
    const resolvePath = linkedFiles({ "/proc/self/cwd": "/elsewhere", "/proc/12/cwd": "/elsewhere" })
    expect(await verdictOf(rules, policyCall("Read", { path }), { resolvePath })).toBe("deny")
    expect(await verdictOf(rules, policyCall("Bash", { command: `cat ${path}` }), { resolvePath })).toBe("deny")
  })

  test("/proc/self/cwd of a permitted folder is not permitted as written", async () => {
    const allow = { default: "deny", rules: [{ allow: { read: "docs/**" } }] } as const
    expect(await verdictOf(allow, policyCall("Read", { path: "/proc/self/cwd/docs/a" }))).toBe("deny")
    expect(await verdictOf(rules, policyCall("Read", { path: "/proc/self/cwd/docs/a" }))).toBe("tier")
  })
})

describe("a path through a link and out of it again", () => {
  const rules: PolicyRule[] = [{ deny: { path: "secrets/**" } }]
  const resolvePath = linkedFiles({ "/ws/link": "/ws/secrets/deep", "/dev/fd": "/proc/7/fd", "/ws/out": "/tmp/deep" })
  test.each([
    ["link/../key"],
    ["./docs/../link/.././key"],
    ["/ws/link/../key"],
    ["out/../../ws/secrets/key"],
    ["/dev/fd/../cwd/secrets/key"],
    ["/dev/fd/../task/7/cwd/secrets/key"],
    ["/dev/fd/../root/ws/secrets/key"],
    ["file:///ws/link/../key"],
  ])("%s is where the kernel finds it", async (path) => {
    expect(await verdictOf(rules, policyCall("Bash", { command: `cat ${path}` }), { resolvePath })).toBe("deny")
    expect(await verdictOf(rules, policyCall("mcp:fs/get", { path }), { resolvePath })).toBe("deny")
  })

  test("a path through a link and out of it again is permitted only if it is in both readings", async () => {
    const allow = (read: readonly string[]) => ({ default: "deny", rules: [{ allow: { read } }] }) as const
    const call = policyCall("Read", { path: "link/../a" })
    expect(await verdictOf(allow(["a"]), call, { resolvePath })).toBe("deny")
    expect(await verdictOf(allow(["a", "secrets/**"]), call, { resolvePath })).toBe("allow")
  })

  test("a path through a link with more steps than can be followed is asked", async () => {
    const command = `cat ${"link/../".repeat(41)}key`
    expect(await verdictOf(rules, policyCall("Bash", { command }), { resolvePath })).toBe("ask")
  })
})

describe("a path below an open file of a process", () => {
  const rules: PolicyRule[] = [{ deny: { path: "secrets/**" } }]
  test.each([
    ["/dev/fd/3/secrets/key"],
    ["/dev/fd/3"],
    ["/dev/fd/0/secrets/key"],
    ["/dev/stdin/secrets/key"],
    ["/proc/self/fd/3/key"],
    ["/proc/self/task/1/fd/3/key"],
    ["/dev/fd/../fd/3/key"],
  ])("%s can be any path", async (path) => {
    expect(await verdictOf(rules, policyCall("Bash", { command: `cat ${path} 3< .` }))).toBe("deny")
    expect(
      await verdictOf({ default: "deny", rules: [{ allow: { read: "/**" } }] }, policyCall("Read", { path })),
    ).toBe("deny")
  })

  test.each([["cat /dev/stdin"], ["cat /dev/fd/0"], ["echo x > /dev/stderr"], ["echo x > /proc/self/fd/1"]])(
    "%s is what the command is given anyway",
    async (command) => {
      expect(await verdictOf(rules, policyCall("Bash", { command }))).toBe("tier")
    },
  )
})

describe("a path that cannot be resolved, where a rule refuses paths", () => {
  const resolvePath = async (path: string) => {
    if (path.startsWith("/ws/broken")) throw new Error("a broken link")
    return path
  }
  const calls: readonly (readonly [string, PolicyCall])[] = [
    ["a word of a command", policyCall("Bash", { command: "tee broken" })],
    ["a redirect", policyCall("Bash", { command: "echo x > broken" })],
    ["a redirect without a command", policyCall("Bash", { command: "> broken" })],
    ["an argument", policyCall("mcp:fs/put", { path: "broken" })],
  ]
  test.each(calls)("a path that cannot be resolved is asked as %s, whatever the tier", async (_, call) => {
    expect(await verdictOf([{ deny: { write: "secrets/**" } }], call, { resolvePath })).toBe("ask")
    expect(await verdictOf([{ deny: { exec: "curl **" } }], call, { resolvePath })).toBe("tier")
  })
})
