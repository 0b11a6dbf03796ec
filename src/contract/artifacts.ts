import type { Environment } from "./env.ts"
import type { RunKey } from "./store.ts"

/** The whole of what is too long for a transcript. */
export interface Artifact {
  readonly callId: string
  readonly toolName: string
  /** Letters, digits, `.`, `_` and `-`. Two attempts at one call have the same. */
  readonly filename: string
  readonly bytes: Uint8Array
}

/** Where artifacts are kept. What goes wrong with it costs the artifact, never the run. */
export interface ArtifactStore {
  /** Keeps it, whole and durable, and answers where, in words that the model can hand to its tools. Null: it does not. */
  save(run: RunKey, artifact: Artifact): Promise<string | null>
  /** What that run's tools act on, so that they can read its artifacts. Absent: the environment as it is. */
  environment?(env: Environment, run: RunKey): Environment
}

/** An `ArtifactStore` as one function. */
export type PersistArtifact = (artifact: {
  readonly filename: string
  readonly buffer: Uint8Array
  readonly toolName: string
  readonly toolUseId: string
}) => string | null | Promise<string | null>
