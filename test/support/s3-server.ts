import { Miniflare } from "miniflare"
import type { Store } from "../../src/contract/store.ts"
import { type S3StoreOptions, s3Store } from "../../src/stores/s3/index.ts"

/** A real S3 API over real HTTP: R2 as on a developer's machine. */
export interface S3Server {
  readonly endpoint: string
  readonly options: S3StoreOptions & { readonly endpoint: string }
  /** An empty store. */
  freshStore(options?: Partial<S3StoreOptions>): Store
  close(): Promise<void>
}

const keys = { accessKeyId: "local-key", secretAccessKey: "local-secret-that-nobody-may-see" }

export async function startS3(): Promise<S3Server> {
  const worker = new Miniflare({
    modules: true,
    script: "export default { fetch: () => new Response() }",
    compatibilityDate: "2026-01-01",
    cf: false,
    r2Buckets: { RUNS: { id: "runs", s3Credentials: keys } },
  })
  const endpoint = `${(await worker.ready).origin}/cdn-cgi/local/r2/s3`
  const options = { bucket: "runs", endpoint, ...keys }
  let made = 0
  return {
    endpoint,
    options,
    freshStore: (more = {}) => s3Store({ ...options, prefix: `store-${made++}`, ...more }),
    close: () => worker.dispose(),
  }
}
