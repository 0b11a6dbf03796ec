import type { Capabilities, OwnTool } from "../contract/capabilities.ts"
import type { RunInput } from "../contract/run.ts"
import { UsageError } from "./arguments.ts"

/** Tools that vendors' programs have themselves; `auto`: those of every program. */
export async function ownTools(backend: string | undefined): Promise<readonly OwnTool[]> {
  return (await capabilitiesOf(backend)).flatMap(([, capabilities]) => capabilities.ownTools)
}

/** A program that cannot be kept from using a tool is not started with options that forbid the tool. */
export async function checkWithheld(
  backend: string | undefined,
  restriction: Pick<RunInput, "allowedTools" | "disabledTools">,
): Promise<void> {
  // A run whose backend is chosen for it moves on to one that can be restricted.
  if (backend === undefined || backend === "auto") return
  const { cannotWithhold, withheldTools } = await import("../run/session/withheld-tools.ts")
  const { toolFilter } = await import("../settings/options/extensions.ts")
  for (const [name, capabilities] of await capabilitiesOf(backend)) {
    const { unstoppable } = withheldTools(capabilities, toolFilter(restriction))
    if (unstoppable === undefined) continue
    throw new UsageError(
      cannotWithhold(name, unstoppable),
      "Omit --read-only, --tools and --no-tools, and the lists of tools in the config file, or use another --backend.",
    )
  }
}

async function capabilitiesOf(backend: string | undefined): Promise<readonly (readonly [string, Capabilities])[]> {
  if (backend === undefined || backend === "native") return []
  const { runtimeCapabilities } = await import("../hosts/node/backends/registry.ts")
  return Object.entries(await runtimeCapabilities()).filter(([name]) => backend === "auto" || name === backend)
}
