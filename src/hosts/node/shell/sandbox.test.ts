import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { boundPaths, type SandboxView, sandboxArguments } from "./sandbox.ts"

// The arguments for bubblewrap, on any machine. test/machine runs bubblewrap itself.
const root = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-sandbox-")))
mkdirSync(join(root, ".longhaul"))
mkdirSync(join(root, "store", "runs"), { recursive: true })
afterAll(() => rmSync(root, { recursive: true, force: true }))

function argumentsOf(view: Partial<SandboxView> = {}): string {
  const all = { root, readOnly: [], hidden: [], network: "none", cwd: root, ...view } as const
  return ` ${sandboxArguments(all).join(" ")} `
}

test("a sandboxed command has no network unless it is given all of it", () => {
  expect(argumentsOf()).toContain(" --unshare-all ")
  expect(argumentsOf()).not.toContain("--share-net")
  expect(argumentsOf({ network: "all" })).toContain(" --share-net ")
})

test("a sandboxed command has no capabilities, no further user namespace and no life beyond ours", () => {
  expect(argumentsOf()).toContain(" --unshare-user --disable-userns ")
  expect(argumentsOf()).toContain(" --die-with-parent --new-session --cap-drop ALL ")
})

test("a sandboxed command finds hidden folders empty, and cannot rename the folders above them", () => {
  const hidden = join(root, "store", "runs")
  const told = argumentsOf({ hidden: [hidden] })
  expect(told).toContain(` --tmpfs ${hidden} `)
  expect(told).toContain(` --remount-ro ${hidden} `)
  expect(told).toContain(` --bind ${join(root, "store")} ${join(root, "store")} `)
  expect(told.indexOf(`--tmpfs ${hidden}`)).toBeGreaterThan(told.indexOf(`--bind ${root} ${root}`))
})

test("a sandboxed command can read what governs the run and further roots, and change neither", () => {
  const own = join(root, ".longhaul")
  const told = argumentsOf({ readOnly: ["/srv/notes"] })
  expect(told).toContain(` --ro-bind ${own} ${own} `)
  expect(told).toContain(" --ro-bind /srv/notes /srv/notes ")
  expect(told).toContain(" --remount-ro / ")
})

test("a sandboxed command finds refused folders and files covered, and refused changes read-only", () => {
  const [folder, file, fixed] = [join(root, "secrets"), join(root, "deep/a/.env"), join(root, ".npmrc")]
  const refused = {
    unreadable: [
      { path: folder, isFolder: true },
      { path: file, isFolder: false },
    ],
    unwritable: [fixed],
    all: [folder, file, fixed],
  }
  const told = argumentsOf({ refused, emptyFile: "/spill/empty" })
  expect(told).toContain(` --perms 0000 --tmpfs ${folder} `)
  expect(told).toContain(` --remount-ro ${folder} `)
  expect(told).toContain(` --ro-bind /spill/empty ${file} `)
  expect(told).toContain(` --ro-bind ${fixed} ${fixed} `)
  // Folders above cannot be renamed.
  expect(told).toContain(` --bind ${join(root, "deep/a")} ${join(root, "deep/a")} `)
  expect(told.indexOf(`--bind ${join(root, "deep/a")}`)).toBeLessThan(told.indexOf("--ro-bind /spill/empty"))
  const view = { root, readOnly: [], hidden: [], network: "none", cwd: root, refused } as const
  expect(boundPaths(view)).toEqual(
    expect.arrayContaining([folder, file, fixed, join(root, "deep"), join(root, ".longhaul")]),
  )
})

test("what is covered in read-only folders must stay what it is, too, and the folders above it", () => {
  const unreadable = ["/srv/notes/a/b/key", "/etc/passwd"].map((path) => ({ path, isFolder: false }))
  const refused = { unreadable, unwritable: ["/srv/notes/fixed"], all: [] }
  const bound = boundPaths({ root, readOnly: ["/srv/notes"], hidden: [], network: "none", cwd: root, refused })
  expect(bound).toEqual(
    expect.arrayContaining(["/srv/notes/a/b/key", "/srv/notes/a/b", "/srv/notes/a", "/etc/passwd", "/srv/notes/fixed"]),
  )
  expect(bound).not.toContain("/srv/notes")
})
