import { acksFile, runChild, type Sabotage } from "../../src/cli/crashtest/child.ts"
import { lineWriter } from "../../src/cli/crashtest/lines.ts"
import { type ChildPlan, PLAN_VARIABLE } from "../../src/cli/crashtest/plan.ts"
import type { AppendFile, Store } from "../../src/contract/store.ts"
import { crc32 } from "../../src/lib/crc32.ts"

/** Runtimes that violate their guarantees, which the harness must detect. */
const sabotages: Readonly<Record<string, Sabotage>> = {
  /** Nothing is recorded before an effect. */
  "no-intents": {
    tools: (tools) => tools.map((tool) => (tool.effect === "once" ? { ...tool, effect: "none" } : tool)),
  },
  /** Records are published before they are durable. */
  "early-acks": { store: acknowledgingEarly },
  /** A shard without a header does not name its creator. */
  "nameless-claims": { store: hidingClaims },
}

const plan = JSON.parse(process.env[PLAN_VARIABLE] ?? "") as ChildPlan
await runChild(plan, sabotages[process.env.SABOTAGE ?? ""])
process.exit(0)

function hidingClaims(store: Store): Store {
  return {
    ...store,
    folder(path) {
      const inner = store.folder(path)
      const read = async (name: string) => {
        const bytes = await inner.read(name)
        const lines = bytes && name.endsWith(".jsonl") ? new TextDecoder().decode(bytes).split("\n") : []
        if (lines.length !== 2 || lines[1] !== "") return bytes
        const { owner: _, ...claim } = JSON.parse(lines[0] ?? "")
        return new TextEncoder().encode(`${JSON.stringify(claim)}\n`)
      }
      return { ...inner, read }
    },
  }
}

function acknowledgingEarly(store: Store, { folder }: ChildPlan): Store {
  const acknowledge = lineWriter(acksFile(folder))
  const tell = (bytes: Uint8Array) => {
    for (const line of new TextDecoder().decode(bytes).split("\n").filter(Boolean)) {
      const { end: _, ...record } = JSON.parse(line)
      const crc = crc32(new TextEncoder().encode(JSON.stringify(record)))
      if (record.seq !== undefined) acknowledge({ runId: "run", seq: record.seq, crc })
    }
  }
  const early = (file: AppendFile): AppendFile => ({
    stands: () => file.stands(),
    close: () => file.close(),
    write(bytes) {
      tell(bytes)
      return file.write(bytes)
    },
  })
  return {
    ...store,
    folder(path) {
      const inner = store.folder(path)
      const { append } = inner
      if (append === undefined) return inner
      const open = async (name: string, first: Uint8Array) => {
        const file = await append.open(name, first)
        return file && early(file)
      }
      return { ...inner, append: { ...append, open } }
    },
  }
}
