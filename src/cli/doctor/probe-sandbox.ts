import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Variables } from "../../hosts/node/model-names.ts"
import { findBubblewrap } from "../../hosts/node/shell/sandbox.ts"
import { findSandboxFault } from "../../hosts/node/shell/sandbox-trial.ts"
import { newNonce } from "../../lib/id.ts"

/** The sandbox that is available for Bash, or why there is none. */
export interface FoundSandbox {
  readonly sandbox: "bubblewrap" | null
  readonly sandboxFault: string | null
}

/** Tries it: the system may forbid an installed sandbox. */
export async function probeSandbox({ PATH = "" }: Variables): Promise<FoundSandbox> {
  const bubblewrap = findBubblewrap({ path: PATH })
  if (bubblewrap === undefined) return { sandbox: null, sandboxFault: "bubblewrap (bwrap) is not on PATH" }
  const folder = await mkdtemp(join(tmpdir(), "longhaul-doctor-"))
  try {
    const fault = await findSandboxFault({
      bubblewrap,
      network: "none",
      folder: join(folder, "trial"),
      mark: newNonce(),
    })
    return fault === undefined
      ? { sandbox: "bubblewrap", sandboxFault: null }
      : { sandbox: null, sandboxFault: `bubblewrap does not work on this machine: ${fault}` }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
