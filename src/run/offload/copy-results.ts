import type { RunRecord } from "../../contract/event.ts"
import type { Folder } from "../../contract/store.ts"
import { copyBlob } from "./blobs.ts"

type Stored = Pick<RunRecord & { readonly type: "tool-result" }, "stored">

/** Copies the stored results that records name, and returns where each is in the other folder. */
export async function copyResults(
  from: Folder,
  to: Folder,
  records: readonly RunRecord[],
): Promise<ReadonlyMap<RunRecord, Stored>> {
  const copies = new Map<RunRecord, Stored>()
  for (const record of records) {
    if (record.type !== "tool-result" || record.stored === undefined || !("bytes" in record.stored)) continue
    const { bytes, attempt: before = 0 } = record.stored
    const attempt = (await copyBlob(from, to, record.callId, before)) ?? before
    copies.set(record, { stored: { bytes, ...(attempt > 0 && { attempt }) } })
  }
  return copies
}
