import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))
/** The program as another version of Node would start it. */
const startedOn = (version: string) =>
  spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `
    Object.defineProperty(process, "versions", { value: { ...process.versions, node: ${JSON.stringify(version)} } })
    process.argv.splice(1, 0, ${JSON.stringify(main)}, "--version")
    await import(${JSON.stringify(main)})
  `,
    ],
    { encoding: "utf8" },
  )

test.each(["18.20.4", "20.18.0", "16.0.0"])(
  "on Node %s the program names the required version and exits with 1",
  (version) => {
    const { status, stderr, stdout } = startedOn(version)
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
    expect(stderr).toContain(`Longhaul needs Node 20.19 or later; this is Node ${version}.`)
  },
)

test.each(["20.19.0", "22.1.0"])("on Node %s the program starts", (version) => {
  expect(startedOn(version)).toMatchObject({ status: 0, stderr: "" })
})
