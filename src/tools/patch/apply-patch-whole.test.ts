import { chmodSync, statSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import {
  abc,
  asLatin1,
  diff,
  envelope,
  lines,
  memory,
  PatchScene,
  patch,
  update,
} from "../../../test/support/patch-scene.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { applyPatchTool } from "./apply-patch.ts"

const scene = new PatchScene()
afterAll(() => scene.close())

describe.each(Object.entries(scene.kinds))("ApplyPatch %s", (_, create) => {
  test("one failing hunk prevents the whole patch", { tags: ["TOOL-32"] }, async () => {
    const before = { changed: abc, gone: "x", moved: abc, last: abc }
    const good = [
      "*** Add File: new/file",
      "+x",
      "*** Update File: changed",
      "@@",
      "-a",
      "*** Delete File: gone",
      "*** Update File: moved",
      "*** Move to: elsewhere",
    ]
    const outcome = await patch(create(before), envelope(...good, "*** Update File: last", "@@", "-zzz"))
    expect(outcome).toMatchObject({ code: "not_found", after: before })
    expect(Object.keys(outcome.after)).toEqual(Object.keys(before).sort())
    const whole = await patch(create(before), envelope(...good, "*** Update File: last", "@@", "-a"))
    expect(whole.after).toEqual({ changed: "b\nc\n", elsewhere: abc, last: "b\nc\n", "new/file": "x\n" })
  })

  test("of many concurrent patches of one file none is lost: each is applied or rejected", {
    tags: ["TOOL-33"],
  }, async () => {
    const place = create({ log: "0\n" })
    const apply = (index: number) => patch(place, update("log", "@@", `+line ${index}`))
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_, index) => apply(index + 1)))
    const done = outcomes.flatMap(({ code }, index) => (code === "ok" ? [`line ${index + 1}`] : []))
    expect(new Set(outcomes.map(({ code }) => code))).toEqual(new Set(done.length < 12 ? ["ok", "conflict"] : ["ok"]))
    const log = new TextDecoder().decode(await place.files.read("log", place.cwd))
    expect(log.split("\n").slice(1, -1).sort()).toEqual(done.sort())
    expect(done.length).toBeGreaterThan(0)
  })

  test("a file that changes between read and write is a conflict and stays unchanged", async () => {
    const place = create({ a: abc, b: abc })
    const files = {
      ...place.files,
      async read(path: string, cwd: string) {
        const bytes = await place.files.read(path, cwd)
        if (path === "b") await place.files.write("b", cwd, new TextEncoder().encode("meanwhile"))
        return bytes
      },
    }
    const both = envelope("*** Update File: a", "@@", "-a", "*** Update File: b", "@@", "-a")
    expect((await patch({ ...place, files }, both)).told).toBe("b has changed since it was read.")
    expect((await patch(place, envelope("*** Add File: c", "+c"))).after).toEqual({ a: abc, b: "meanwhile", c: "c\n" })
  })
})

test("paths outside are denied, in either format", async () => {
  const place = scene.disk({ a: abc })
  const patches = [
    envelope("*** Add File: ../out", "+x"),
    update("a", "*** Move to: /tmp/longhaul-out"),
    diff("../../etc/passwd", "@@ -1 +1 @@", "-a", "+b"),
    envelope("*** Delete File: /etc/passwd"),
  ]
  for (const text of patches) expect(await patch(place, text)).toMatchObject({ code: "denied", after: { a: abc } })
})

test("a file and a link to it in one patch count as one file changed twice", async () => {
  const place = scene.disk({ a: abc })
  symlinkSync("a", join(place.cwd, "link"))
  const both = envelope("*** Update File: a", "@@", "-a", "*** Update File: link", "@@", "-b")
  const outcome = await patch(place, both)
  expect(outcome).toMatchObject({ code: "invalid_input", after: { a: abc } })
})

test("a moved or replaced file keeps its permissions", async () => {
  const place = scene.disk({ "run.sh": abc, "private.txt": abc })
  chmodSync(join(place.cwd, "run.sh"), 0o751)
  chmodSync(join(place.cwd, "private.txt"), 0o600)
  await patch(
    place,
    envelope("*** Update File: run.sh", "*** Move to: bin/run.sh", "*** Update File: private.txt", "@@", "-a"),
  )
  const modeOf = (name: string) => (statSync(join(place.cwd, name)).mode & 0o777).toString(8)
  expect([modeOf("bin/run.sh"), modeOf("private.txt")]).toEqual(["751", "600"])
})

test("endlessly repeated lines are searched in linear time", async () => {
  const many = Array.from({ length: 100_000 }, () => "x")
  const text = update("a", "@@", ...many.slice(0, 20_000).map((line) => ` ${line}`), "-y")
  expect(await patch(memory({ a: lines(...many) }), text)).toMatchObject({ code: "not_found" })
  const fits = update("a", "@@", ...many.slice(0, 20_000).map((line) => ` ${line}`), "-y", "+z")
  expect(await patch(memory({ a: lines(...many, "y") }), fits)).toMatchObject({ code: "ok" })
})

test("ApplyPatch in a run that is being stopped changes nothing", async () => {
  const { files, cwd } = memory({ a: abc })
  const context = createToolContext({ signal: AbortSignal.abort(), cwd, env: { files } })
  const running = Promise.resolve(applyPatchTool().run({ patch: update("a", "@@", "-a") }, context))
  await expect(running).rejects.toMatchObject({ code: "aborted" })
  expect(asLatin1(await files.read("a", cwd))).toBe(abc)
})
