import { parseIp } from "../../../lib/ip-address.ts"

export interface Address {
  readonly host: string
  readonly port: number
}

/** Where the host of an http(s) URL listens. */
export function addressOf({ hostname, port, protocol }: URL): Address {
  const host = hostname.replace(/^\[|\]$/g, "")
  return { host, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) }
}

/** The name that TLS asks for; empty where the host is an IP address, which has none. */
export function serverNameOf({ host }: Address): string {
  return parseIp(host) === undefined ? host : ""
}
