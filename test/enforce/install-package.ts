import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** Puts the built package beside the frameworks, as a user's installation does, and makes all of them importable here. */
export default function installPackage(): void {
  const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
  const target = at(".enforce/node_modules/longhaul")
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target)
  cpSync(at("package.json"), `${target}/package.json`)
  cpSync(at("dist"), `${target}/dist`, { recursive: true })
  const link = at("test/enforce/node_modules")
  if (!existsSync(link)) symlinkSync(at(".enforce/node_modules"), link)
}
