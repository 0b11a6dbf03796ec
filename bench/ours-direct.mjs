import { directTransport, open as openOurs } from "./ours.mjs"

/** The same runtime over `directTransport`. @param {import("./floor.mjs").Setup} setup */
export const open = (setup) => openOurs(setup, { transport: directTransport() })
