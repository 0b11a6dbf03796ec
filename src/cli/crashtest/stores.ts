import { basename, dirname, join } from "node:path"
import type { Store } from "../../contract/store.ts"
import { createOnlyStore, fsStore } from "../../hosts/node/fs-store.ts"
import { runPath } from "../../journal/paths.ts"
import { s3Store } from "../../stores/s3/index.ts"
import { UsageError } from "../arguments.ts"

/** The store of one trial: in its folder, or under a prefix of its own in a bucket. */
export function trialStore(choice: string, folder: string): Store {
  if (choice === "fs") return fsStore(join(folder, "store"))
  if (choice === "create-only") return createOnlyStore(join(folder, "store"))
  const [, bucket = "", prefix = ""] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(choice) ?? []
  if (bucket === "") {
    throw new UsageError(`--store is ${JSON.stringify(choice)}.`, "Give fs, create-only or s3://bucket/prefix.")
  }
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL } = process.env
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY || !(AWS_REGION || AWS_ENDPOINT_URL)) {
    throw new UsageError(
      `Nothing in the environment says how to reach ${choice}.`,
      "Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and AWS_REGION or AWS_ENDPOINT_URL.",
    )
  }
  return s3Store({
    bucket,
    prefix: [prefix, basename(dirname(folder)), basename(folder)].join("/"),
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    ...(AWS_REGION && { region: AWS_REGION }),
    ...(AWS_ENDPOINT_URL && { endpoint: AWS_ENDPOINT_URL }),
  })
}

/** Deletes what a trial left in a bucket; what is on disk goes with its folder. */
export async function emptyBucket(store: Store, runId: string): Promise<void> {
  const path = runPath({ workspaceId: "default", runId, nodeId: "main" })
  const folder = store.folder(path)
  const outbox = (await store.list(`${path}/outbox`)).map((name) => `outbox/${name}`)
  for (const name of [...(await folder.list()).filter((each) => each !== "outbox"), ...outbox])
    await folder.delete(name)
}
