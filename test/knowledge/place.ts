import type { Store } from "../../src/contract/store.ts"

/** Writes documents of a workspace's knowledge: `base/folder/file.md` → text or bytes. */
export async function addDocuments(
  store: Store,
  documents: Readonly<Record<string, string | Uint8Array>>,
  workspaceId = "default",
): Promise<void> {
  for (const [path, content] of Object.entries(documents)) {
    const parts = path.split("/")
    const name = parts.pop() ?? ""
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content
    const folder = store.folder(["workspaces", workspaceId, "knowledge", ...parts].join("/"))
    await folder.replace(name, bytes)
  }
}

export const handbook = {
  "handbook/leave.md": `# Leave

Everybody has 28 days.

## Carry over

Days that are left expire on 31 March. See [[travel#Trains]] and [[Sick leave|illness]].

\`\`\`sh
# not a heading
\`\`\`

### Exceptions

Parents may keep ten days.

## Carry over

A second section with the same heading.
`,
  "handbook/travel.md":
    "# Travel\n\n## Trains\n\nFirst class for more than four hours.\n\n## Planes\n\nEconomy only.\n",
  "handbook/people/Sick leave.md": "Call before nine.\n",
  "produkte/kuendigung.md": "# Kündigung\n\nDie Kündigungsfrist beträgt drei Monate. Die Straße ist gesperrt.\n",
  "产品/退款.md": "# 退款政策\n\n顾客可以在三十天内申请退款，运费不退。\n\n## 保修\n\n所有电器保修两年。\n",
  "manual/japan.md":
    "# 返品\n\n商品の返品は東京都庁の近くの店舗で受け付けます。\n\n## 配送\n\n配送には三日かかります。\n",
}
