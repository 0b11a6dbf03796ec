import type { Artifact, PersistArtifact } from "../contract/artifacts.ts"

/** A host's function, in our words. */
export function persisting(persist: PersistArtifact): (artifact: Artifact) => Promise<string | null> {
  return async ({ filename, bytes, toolName, callId }) =>
    persist({ filename, buffer: bytes, toolName, toolUseId: callId })
}
