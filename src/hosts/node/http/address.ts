import { parseIp } from "../../../lib/http/ip-address.ts"

export interface Address {
  readonly host: string
  readonly port: number
}

/** The host and port of an http(s) URL. */
export function addressOf({ hostname, port, protocol }: URL): Address {
  const host = hostname.replace(/^\[|\]$/g, "")
  return { host, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) }
}

/** The TLS server name; empty if the host is an IP address. */
export function serverNameOf({ host }: Address): string {
  return parseIp(host) === undefined ? host : ""
}
