import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { codex } from "../../src/backends/codex/index.ts"
import type { PlacedBackend, PlaceFacts } from "../support/backend-place.ts"
import { programs } from "./programs.ts"

/** The real Codex, on a simulated model. */
export const placedCodex: PlacedBackend = {
  name: "codex",
  ours: (name, args) => ({ name, args }),
  own: {
    tool: "Bash",
    call: (file, text) => command(write(file, text)),
    rewrite: (file, text) => ({ "/command": write(file, text) }),
  },
  speaks: { command },
  configure: (facts) => ({ backend: codex(codexOptions(facts)), model: "gpt-5.5" }),
}

/**
 * Options for a model server at `url`, with all of Codex's own files in `home`. The temporary folder is in it, too: Codex
 * refuses a home that is below its temporary folder, as the home of this machine may be.
 */
export function codexOptions({ url, home, isLoggedOut }: Pick<PlaceFacts, "url" | "home" | "isLoggedOut">) {
  const lab = { name: "lab", base_url: `${url}/v1`, wire_api: "responses", env_key: "LAB_KEY" }
  const [folder, temporary] = [join(home, ".codex"), join(home, "tmp")]
  for (const each of [folder, temporary]) mkdirSync(each, { recursive: true })
  return {
    command: programs.codex,
    config: { model_provider: "lab", model_providers: { lab } },
    env: { HOME: home, CODEX_HOME: folder, TMPDIR: temporary, LAB_KEY: isLoggedOut ? "" : "k" },
  }
}

function command(cmd: string) {
  return { name: "exec_command", args: { cmd } }
}

/** Without a redirect: that would be a second permission, to write the file. */
function write(file: string, text: string): string {
  return `printf ${text} | tee ${file}`
}
