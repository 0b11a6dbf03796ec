import type { Artifact, PersistArtifact } from "../contract/artifacts.ts"

/** A host's function as an artifact store. */
export function persisting(persist: PersistArtifact): (artifact: Artifact) => Promise<string | null> {
  return async ({ filename, bytes, toolName, callId }) =>
    persist({ filename, buffer: bytes, toolName, toolUseId: callId })
}
