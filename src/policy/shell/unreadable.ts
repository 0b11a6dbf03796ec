/** Ends the reading of a line. `message` completes "The command cannot be read: …". */
export class Unreadable extends Error {}

export function reject(reason: string): never {
  throw new Unreadable(reason)
}

/** For what sh and bash read differently: `sh` is either of them, so neither reading is safe. */
export function rejectDifference(construct: string): never {
  reject(`sh and bash read ${construct} differently`)
}
