/**
 * The bytes of an address, 4 or 16; undefined: not an address. Accepts only the forms that URLs and resolvers output:
 * octal, hex, single numbers and zones are rejected.
 */
export function parseIp(text: string): readonly number[] | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text)
}

/**
 * True if an address can belong to a host on the internet. False for this computer, private and local networks,
 * reserved ranges, IPv6 that embeds such an IPv4 address, and invalid addresses.
 */
export function isPublicIp(text: string): boolean {
  const bytes = parseIp(text)
  if (bytes === undefined) return false
  if (bytes.length === 4) return !isIn(bytes, notPublic4)
  if (isIn(bytes, carriers)) return !isIn(bytes.slice(12), notPublic4)
  return isIn(bytes, globalUnicast) && !isIn(bytes, notPublic6)
}

/** The IPv4 address that an IPv6 address carries, in dots. */
export function embeddedIpv4(text: string): string | undefined {
  const bytes = parseIp(text)
  return bytes?.length === 16 && isIn(bytes, carriers) ? bytes.slice(12).join(".") : undefined
}

interface Range {
  readonly start: readonly number[]
  readonly bits: number
}

const notPublic4 = ranges(
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // behind a provider's NAT
  "127.0.0.0/8", // this computer
  "168.63.129.16/32", // a cloud's own services, inside an otherwise public range
  "169.254.0.0/16", // link-local, and the metadata of clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocols
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // relays of 6to4
  "192.168.0.0/16", // private
  "198.18.0.0/15", // measurements
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
)

/** IPv4 in IPv6 as used in practice: mapped, and DNS64. The embedded address decides. */
const carriers = ranges("::ffff:0:0/96", "64:ff9b::/96")

/** All ranges allocated so far; everything else is local, special or unassigned. */
const globalUnicast = ranges("2000::/3")

const notPublic6 = ranges(
  "2001::/23", // protocols, and Teredo, which carries IPv4
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which carries IPv4
  "3fff::/20", // documentation
)

function ranges(...written: readonly string[]): readonly Range[] {
  return written.map((each) => {
    const [start = "", bits] = each.split("/")
    return { start: parseIp(start) ?? [], bits: Number(bits) }
  })
}

function isIn(bytes: readonly number[], ranges: readonly Range[]): boolean {
  return ranges.some(({ start, bits }) =>
    start.every((byte, index) => {
      const rest = Math.min(8, Math.max(0, bits - index * 8))
      return byte >> (8 - rest) === (bytes[index] ?? 0) >> (8 - rest)
    }),
  )
}

function parseIpv4(text: string): readonly number[] | undefined {
  const parts = text.split(".")
  const bytes = parts.map((part) => (/^(?:0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256))
  return bytes.length === 4 && bytes.every((byte) => byte < 256) ? bytes : undefined
}

function parseIpv6(text: string): readonly number[] | undefined {
  const [left = "", right, ...more] = text.split("::")
  if (more.length > 0) return undefined
  const before = groupBytes(left, right === undefined)
  const after = groupBytes(right ?? "", true)
  if (before === undefined || after === undefined) return undefined
  const missing = 16 - before.length - after.length
  // "::" stands for at least one group.
  if (right === undefined ? missing !== 0 : missing < 2) return undefined
  return [...before, ...Array.from({ length: missing }, () => 0), ...after]
}

/** Groups of hex digits; the very last one may be an IPv4 address. */
function groupBytes(text: string, last: boolean): number[] | undefined {
  if (text === "") return []
  const bytes: number[] = []
  const groups = text.split(":")
  for (const [index, group] of groups.entries()) {
    const ipv4 = last && index === groups.length - 1 && group.includes(".") ? parseIpv4(group) : undefined
    if (ipv4 !== undefined) {
      bytes.push(...ipv4)
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(group)) return undefined
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 0xff)
    }
  }
  return bytes
}
