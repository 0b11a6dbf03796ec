import { open as openOurs } from "./ours.mjs"

/** The portable path: the same runtime over global fetch. @param {import("./floor.mjs").Setup} setup */
export const open = (setup) => openOurs(setup, { fetch: globalThis.fetch })
