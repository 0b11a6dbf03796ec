import { chmod, mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeEach, expect } from "vitest"
import type { DoctorReport } from "../../src/cli/doctor/report.ts"
import { namedProviders } from "../../src/hosts/node/model-names.ts"
import type { commandLine } from "./command-line.ts"

/** A closed port: servers on the test machine must not be found. */
export const noServers = Object.fromEntries(
  namedProviders.flatMap(({ localUrl, baseUrlName }) =>
    localUrl && baseUrlName ? [[baseUrlName, "http://127.0.0.1:9/v1"]] : [],
  ),
)

/** A machine with only Node, for doctor. */
export function bareMachine({ place, longhaul }: ReturnType<typeof commandLine>) {
  let bin = ""
  beforeEach(async () => {
    bin = join(place.home, "bin")
    await mkdir(bin)
    await symlink(process.execPath, join(bin, "node"))
  })

  const bare = () => ({ ...noServers, PATH: bin })

  return {
    bare,
    async report(variables: Readonly<Record<string, string>> = {}, args: readonly string[] = []) {
      const { code, stdout, stderr } = await longhaul(["doctor", "--json", ...args], { ...bare(), ...variables })
      expect(stderr).toBe("")
      return { code, ...(JSON.parse(stdout) as DoctorReport) }
    },
    /** Puts a script for Node on PATH. */
    async program(name: string, script: string): Promise<string> {
      const path = join(bin, name)
      await writeFile(path, `#!${process.execPath}\n${script}`)
      await chmod(path, 0o755)
      return path
    },
  }
}
