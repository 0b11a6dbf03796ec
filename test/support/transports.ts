import { directTransport } from "../../src/hosts/node/http/direct/index.ts"
import { nodeTransport } from "../../src/hosts/node/http/http-transport.ts"

/** Both Node transports, which behave the same. */
export const transports = [
  { name: "nodeTransport", create: nodeTransport },
  { name: "directTransport", create: directTransport },
] as const

export type TransportName = (typeof transports)[number]["name"]
