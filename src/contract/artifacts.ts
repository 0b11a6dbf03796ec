import type { Environment } from "./env.ts"
import type { RunKey } from "./store.ts"

/** The full text of a result that is too long for a transcript. */
export interface Artifact {
  readonly callId: string
  readonly toolName: string
  /** Letters, digits, `.`, `_` and `-`. Two attempts at one call have the same name. */
  readonly filename: string
  readonly bytes: Uint8Array
}

/** Stores artifacts. A failure loses the artifact, never the run. */
export interface ArtifactStore {
  /** Stores it completely and durably, and returns a path that the model can pass to its tools. Null: not stored. */
  save(run: RunKey, artifact: Artifact): Promise<string | null>
  /** The environment of that run's tools, so that they can read its artifacts. Absent: the unchanged environment. */
  environment?(env: Environment, run: RunKey): Environment
}

/** An `ArtifactStore` as a single function. */
export type PersistArtifact = (artifact: {
  readonly filename: string
  readonly buffer: Uint8Array
  readonly toolName: string
  readonly toolUseId: string
}) => string | null | Promise<string | null>
