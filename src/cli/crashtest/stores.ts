import { basename, dirname, join } from "node:path"
import type { Store } from "../../contract/store.ts"
import { createOnlyStore, fsStore } from "../../hosts/node/store/fs-store.ts"
import { runPath } from "../../journal/paths.ts"
import { UsageError } from "../arguments.ts"
import { bucketStore, isBucket } from "../config/store-choice.ts"

/** The store of one trial: in its folder, or under its own prefix in a bucket. */
export async function trialStore(choice: string, folder: string): Promise<Store> {
  if (choice === "fs") return fsStore(join(folder, "store"))
  if (choice === "create-only") return createOnlyStore(join(folder, "store"))
  if (!isBucket(choice)) {
    throw new UsageError(
      `Invalid value for --store: ${JSON.stringify(choice)}.`,
      "Use fs, create-only or s3://bucket/prefix.",
    )
  }
  return bucketStore([choice.replace(/\/$/, ""), basename(dirname(folder)), basename(folder)].join("/"))
}

/** Deletes the objects of a trial from a bucket; files on disk are deleted with its folder. */
export async function emptyBucket(store: Store, runId: string): Promise<void> {
  const path = runPath({ workspaceId: "default", runId, nodeId: "main" })
  const folder = store.folder(path)
  const outbox = (await store.list(`${path}/outbox`)).map((name) => `outbox/${name}`)
  for (const name of [...(await folder.list()).filter((each) => each !== "outbox"), ...outbox])
    await folder.delete(name)
}
