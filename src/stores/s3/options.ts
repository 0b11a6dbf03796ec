import { StartupError } from "../../contract/error.ts"
import { checkKeys, keys } from "../../lib/known-keys.ts"

export interface S3StoreOptions {
  readonly bucket: string
  /** Needed on AWS; elsewhere "auto" unless given. */
  readonly region?: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials. */
  readonly sessionToken?: string
  /** The address of a store that is not AWS, such as `https://<account>.r2.cloudflarestorage.com`. */
  readonly endpoint?: string
  /** What every key begins with, so that a bucket can be shared. */
  readonly prefix?: string
  readonly fetch?: typeof fetch
  /** How long one request may stay without an answer; large bodies get more. 20,000 unless given. */
  readonly timeoutMs?: number
}

/** Options that can work. */
export interface ResolvedOptions extends Required<Omit<S3StoreOptions, "endpoint" | "sessionToken">> {
  readonly sessionToken?: string
  /** The bucket's own address, without a slash at its end. */
  readonly address: string
}

export function resolveOptions(given: S3StoreOptions): ResolvedOptions {
  checkKeys("s3Store", given, optionKeys)
  const { bucket, accessKeyId, secretAccessKey, sessionToken, endpoint, timeoutMs = 20_000 } = given
  if (!given.region && !endpoint) throw invalid("region is missing", "Give the bucket's region, or an endpoint.")
  if (!accessKeyId || !secretAccessKey) {
    throw invalid("there are no credentials", "Give accessKeyId and secretAccessKey of a key that may use the bucket.")
  }
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(bucket)) {
    throw invalid("bucket is not the name of a bucket", "Give the bucket's bare name, without a path or an address.")
  }
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    throw invalid("timeoutMs is no whole number of milliseconds", "Give timeoutMs as a whole number above 0.")
  }
  const region = given.region || "auto"
  return {
    bucket,
    region,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken && { sessionToken }),
    address: endpoint ? `${checkedEndpoint(endpoint)}/${bucket}` : awsAddress(bucket, region),
    prefix: checkedPrefix(given.prefix ?? ""),
    // Called as a function of its own: some hosts refuse a fetch that was taken off its object.
    fetch: given.fetch ?? ((input, init) => fetch(input, init)),
    timeoutMs,
  }
}

const optionKeys = keys<S3StoreOptions>()(
  "bucket",
  "region",
  "accessKeyId",
  "secretAccessKey",
  "sessionToken",
  "endpoint",
  "prefix",
  "fetch",
  "timeoutMs",
)

/** A bucket with dots in its name has no certificate for a host of its own. */
function awsAddress(bucket: string, region: string): string {
  const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`
  return bucket.includes(".") ? `https://${host}/${bucket}` : `https://${bucket}.${host}`
}

function checkedEndpoint(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
  if (isPlain) return url.href.replace(/\/+$/, "")
  throw invalid("endpoint is not the address of a server", "Give endpoint as https://host, without a key or a query.")
}

function checkedPrefix(prefix: string): string {
  const parts = prefix.split("/").filter((part) => part !== "")
  if (parts.every((part) => part !== "." && part !== "..")) return parts.map((part) => `${part}/`).join("")
  throw invalid('prefix has a part "." or ".."', "Give prefix as plain names with slashes between them.")
}

function invalid(reason: string, fix: string): StartupError {
  return new StartupError(`s3Store cannot work: ${reason}.`, { fix })
}
