import { sha256 as digest } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"

/** SHA-256 as hex. Synchronous, so that digests of a step's calls do not each cost an event loop iteration. */
export function sha256(text: string): string {
  return bytesToHex(digest(utf8ToBytes(text)))
}
