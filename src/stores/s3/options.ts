import { StartupError } from "../../contract/error.ts"
import { checkShape, required, type Shape } from "../../lib/schema/shape.ts"

export interface S3StoreOptions {
  readonly bucket: string
  /** Required on AWS; elsewhere the default is "auto". */
  readonly region?: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** For temporary credentials. */
  readonly sessionToken?: string
  /** The address of a store that is not AWS, such as `https://<account>.r2.cloudflarestorage.com`. */
  readonly endpoint?: string
  /** A prefix for every key, so that a bucket can be shared. */
  readonly prefix?: string
  readonly fetch?: typeof fetch
  /** The timeout of one request in milliseconds; large bodies get more. Default: 20,000. */
  readonly timeoutMs?: number
}

/** Validated options. */
export interface ResolvedOptions extends Required<Omit<S3StoreOptions, "endpoint" | "sessionToken">> {
  readonly sessionToken?: string
  /** The URL of the bucket, without a trailing slash. */
  readonly address: string
}

export function resolveOptions(given: S3StoreOptions): ResolvedOptions {
  checkShape<S3StoreOptions>("s3Store", given, optionsShape)
  const { bucket, accessKeyId, secretAccessKey, sessionToken, endpoint, timeoutMs = 20_000 } = given
  if (!given.region && !endpoint) throw invalidStore("region is missing", "Give the bucket's region, or an endpoint.")
  if (!accessKeyId || !secretAccessKey) {
    throw invalidStore(
      "there are no credentials",
      "Give accessKeyId and secretAccessKey of a key that may use the bucket.",
    )
  }
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(bucket)) {
    throw invalidStore(
      "bucket is not the name of a bucket",
      "Give the bucket's bare name, without a path or an address.",
    )
  }
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    throw invalidStore("timeoutMs is not a whole number of milliseconds", "Give timeoutMs as a whole number above 0.")
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
    // Wrapped in a function, because some hosts reject a fetch that is called without its object.
    fetch: given.fetch ?? ((input, init) => fetch(input, init)),
    timeoutMs,
  }
}

const optionsShape: Shape<S3StoreOptions> = {
  bucket: required("text"),
  region: "text",
  accessKeyId: required("text"),
  secretAccessKey: required("text"),
  sessionToken: "text",
  endpoint: "text",
  prefix: "text",
  fetch: "function",
  timeoutMs: "number",
}

/** No certificate covers the host name of a bucket with dots in its name, so such a bucket is addressed by path. */
function awsAddress(bucket: string, region: string): string {
  const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`
  return bucket.includes(".") ? `https://${host}/${bucket}` : `https://${bucket}.${host}`
}

function checkedEndpoint(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
  if (isPlain) return url.href.replace(/\/+$/, "")
  throw invalidStore(
    "endpoint is not the address of a server",
    "Give endpoint as https://host, without a key or a query.",
  )
}

function checkedPrefix(prefix: string): string {
  const parts = prefix.split("/").filter((part) => part !== "")
  if (parts.every((part) => part !== "." && part !== "..")) return parts.map((part) => `${part}/`).join("")
  throw invalidStore('prefix has a part "." or ".."', "Give prefix as plain names with slashes between them.")
}

function invalidStore(reason: string, fix: string): StartupError {
  return new StartupError(`s3Store cannot work: ${reason}.`, { fix })
}
