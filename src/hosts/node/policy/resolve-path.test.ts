import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { policyCall, verdictOf } from "../../../../test/support/policy-scene.ts"
import { resolvePath } from "./resolve-path.ts"

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-resolve-")))
  mkdirSync(join(root, "secrets/deep"), { recursive: true })
  mkdirSync(join(root, "docs"))
})
afterEach(() => rmSync(root, { recursive: true }))

const verdict = (command: string) =>
  verdictOf([{ deny: { path: "secrets/**" } }], policyCall("Bash", { command }, { cwd: root, workspace: root }), {
    resolvePath,
  })

test("a link leads where it leads, as far as it exists", async () => {
  symlinkSync("secrets", join(root, "link"))
  expect(await resolvePath(join(root, "link/deep/a/b"))).toBe(join(root, "secrets/deep/a/b"))
  expect(await verdict("cat link/key")).toBe("deny")
})

test.runIf(process.platform === "linux").each([
  ["/proc/self/cwd", "secrets/key"],
  ["/proc/self/root", "etc/passwd"],
  ["/proc/thread-self/cwd", "secrets/key"],
  ["/dev/fd/0", "secrets/key"],
  ["/dev/fd/../cwd", "secrets/key"],
])("a link of the workspace to %s is asked: for a command, it leads elsewhere than here", async (target, rest) => {
  symlinkSync(target, join(root, "link"))
  symlinkSync("../link", join(root, "docs/second"))
  for (const name of ["link", "docs/second"]) {
    await expect(resolvePath(join(root, name, rest))).rejects.toThrow()
    expect(await verdict(`cat ${name}/${rest}`)).toBe("ask")
  }
})

test.runIf(process.platform === "linux")("a path out of a link is where the kernel finds it", async () => {
  expect(await verdict("cat /dev/fd/../cwd/secrets/key")).toBe("deny")
  symlinkSync("secrets/deep", join(root, "link"))
  expect(await verdict("cat link/../key")).toBe("deny")
})

test("a broken link is asked wherever it stands in a line, since a command may create what it leads to", async () => {
  symlinkSync("secrets/new", join(root, "broken"))
  for (const command of ["tee broken", "echo x > broken", "cp docs broken"]) {
    expect(await verdict(command), command).toBe("ask")
  }
})

test("a word that is too long for a name is no path", async () => {
  expect(await verdict(`git commit -m ${"a".repeat(5000)}`)).toBe("tier")
})
