import type { RecordBody } from "../../contract/event.ts"
import type { RecordedExtension } from "../../contract/extension.ts"
import type { CheckedInput } from "../../settings/input/input.ts"

/** The extensions that a run used and that are not configured in this process. */
export function missingExtensions(
  before: Iterable<RecordedExtension>,
  { extensions, mcpServers }: Pick<CheckedInput, "extensions" | "mcpServers">,
): readonly RecordedExtension[] {
  const names = new Set(extensions.all.map(({ name }) => name))
  // The backend of this process connects to the servers itself.
  if (Object.keys(mcpServers).length > 0) names.add("mcpServers")
  return Array.from(before).filter(({ name }) => !names.has(name))
}

export function missingWarning({ name, tools, instructions }: RecordedExtension): RecordBody {
  const names = tools.map((tool) => tool.name)
  const parts = [
    ...(names.length > 0
      ? [`its tools (${names.slice(0, MAX_NAMES).join(", ")}${names.length > MAX_NAMES ? ", …" : ""})`]
      : []),
    ...(instructions ? ["its instructions"] : []),
  ]
  const lost = parts.length === 0 ? "" : ` Without it the run does not have ${parts.join(" and ")}.`
  const message = `The run used the extension ${name}, which is not configured here.${lost} ${missingFix(name)}`
  return { type: "warning", code: "extension_missing", message }
}

/** How to make it available again. */
export function missingFix(name: string): string {
  return name === "mcpServers"
    ? "Pass mcpServers to resume, or to createRuntime."
    : `Pass the extension to resume, or to createRuntime: extensions: [${name}].`
}

const MAX_NAMES = 5
