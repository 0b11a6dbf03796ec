import type { Store } from "../../contract/store.ts"
import type { Variables } from "../../hosts/node/model-names.ts"
import { UsageError } from "../arguments.ts"

/** True if the store is a bucket, not a folder. */
export function isBucket(choice: string): boolean {
  return choice.startsWith("s3://")
}

/** The named store: a folder, or `s3://bucket/prefix` with the usual AWS variables. */
export async function storeAt(choice: string, variables: Variables = process.env): Promise<Store> {
  if (!isBucket(choice)) {
    const { fsStore } = await import("../../hosts/node/store/fs-store.ts")
    return fsStore(choice)
  }
  return bucketStore(choice, variables)
}

export async function bucketStore(choice: string, variables: Variables = process.env): Promise<Store> {
  const [, bucket = "", prefix = ""] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(choice) ?? []
  if (bucket === "")
    throw new UsageError(`${JSON.stringify(choice)} does not name a bucket.`, "Write s3://bucket/prefix.")
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN } = variables
  const region = variables.AWS_REGION || variables.AWS_DEFAULT_REGION
  const endpoint = variables.AWS_ENDPOINT_URL_S3 || variables.AWS_ENDPOINT_URL
  if (!accessKeyId || !secretAccessKey || !(region || endpoint)) {
    throw new UsageError(
      `Cannot connect to ${choice}: AWS settings are missing in the environment.`,
      "Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and AWS_REGION or AWS_ENDPOINT_URL.",
    )
  }
  const { s3Store } = await import("../../stores/s3/index.ts")
  return s3Store({
    bucket,
    prefix,
    accessKeyId,
    secretAccessKey,
    ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    ...(region && { region }),
    ...(endpoint && { endpoint }),
  })
}
