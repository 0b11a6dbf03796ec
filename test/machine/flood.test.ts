import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { pipeline } from "node:stream/promises"
import { afterAll, expect, test } from "vitest"
import { ShellHost, ShellScene } from "../support/shell-scene.ts"

const scene = new ShellScene()
afterAll(() => scene.dispose())

test("1 GB of output without a line break uses under 100 MB of memory and is saved byte for byte", async () => {
  const host = await ShellHost.in(scene.base)
  const script = `
    const line = "head -c 1073741824 /dev/zero | tr '\\\\0' x | tee >(sha256sum >hash) ; sleep 1"
    const { text, ...result } = await shell.run(command("bash -c " + JSON.stringify(line)))
    say({ ...result, shown: text.length, maxRss: process.resourceUsage().maxRSS * 1024 })
    const { text: hash } = await shell.run(command("cat hash"))
    say(hash.split(" ")[0])
    await shell.close()
  `
  const { said } = host.start({ root: scene.root, spillFolder: scene.spillFolder }, script)
  const [result, printed] = (await said)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  console.log(`1 GB of output: ${Math.round(result.maxRss / 1e6)} MB of memory at most, ${result.durationMs} ms`)
  expect(result).toMatchObject({ bytes: 1024 ** 3, spilledBytes: 1024 ** 3, endedBy: "exit", exitCode: 0 })
  expect(result.shown).toBeLessThan(66_000)
  expect(result.maxRss).toBeLessThan(100_000_000)
  const kept = createHash("sha256")
  await pipeline(createReadStream(result.spillPath), kept)
  expect(kept.digest("hex")).toBe(printed)
})
